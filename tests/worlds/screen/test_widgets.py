import random

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.testing.make_records import make_task, make_trajectory
from handaxe.worlds.screen.widgets import (
    BACKGROUND,
    COLOURS,
    KINDS,
    LARGEST,
    SIDE,
    SMALLEST,
    UNIT,
    Widget,
    cell_box,
    difficulty,
    draw_screen,
    draw_widgets,
    predicted_box,
)

pytest.importorskip("PIL")

RED = COLOURS["red"]


def screens(split, count=3, number=60):
    return [draw_widgets(random.Random(seed), split, count=count) for seed in range(number)]


def pixels(*widgets, unit=UNIT):
    return draw_screen(widgets, unit=unit).pixels


@pytest.mark.parametrize("count", [1, 3, 4])
def test_widgets_are_disjoint_and_one_is_red(count):
    for widgets in screens("train", count):
        assert [one.colour == "red" for one in widgets] == [True] + [False] * (count - 1)
        assert len({one.colour for one in widgets}) == count and all(one.kind in KINDS for one in widgets)
        covered = np.zeros((SIDE, SIDE), int)
        for one in widgets:
            left, top, right, bottom = one.box
            assert SMALLEST <= (right - left) * (bottom - top) <= LARGEST and bool(one.direction) == (
                one.kind == "arrow"
            )
            covered[top:bottom, left:right] += 1
        assert covered.max() == 1


def test_no_screen_is_in_both_splits():
    """A screen of one widget is drawn often: in any order and by any seed it is in one split."""
    drawn = {split: {tuple(one) for one in screens(split, 1, 800)} for split in ("train", "test")}
    assert not drawn["train"] & drawn["test"] and min(map(len, drawn.values())) > 60


def test_kinds_limit_the_red_widget_alone():
    drawn = [draw_widgets(random.Random(seed), "train", count=2, kinds=("field",)) for seed in range(40)]
    assert {one[0].kind for one in drawn} == {"field"} and {one[1].kind for one in drawn} == set(KINDS)


def test_drawing_equals_a_slow_loop():
    widgets = (
        Widget("button", "red", (0, 0, 2, 1)),
        Widget("field", "blue", (3, 1, 6, 3)),
        Widget("arrow", "green", (1, 4, 4, 7), "down"),
        Widget("arrow", "cyan", (5, 4, 8, 6), "left"),
    )
    for unit in (4, 8):
        shown = pixels(*widgets, unit=unit)
        for y in range(SIDE * unit):
            for x in range(SIDE * unit):
                assert tuple(shown[y, x]) == colour_at(widgets, x, y, unit), (x, y)


def colour_at(widgets, x, y, unit):
    for one in widgets:
        left, top, right, bottom = (unit * side for side in one.box)
        if not (left <= x < right and top <= y < bottom):
            continue
        edge = unit // 4
        if one.kind == "field" and left + edge <= x < right - edge and top + edge <= y < bottom - edge:
            return (255, 255, 255)
        across, down = (x + 0.5 - left) / (right - left), (y + 0.5 - top) / (bottom - top)
        if one.kind == "arrow":
            along, aside = {"down": (1 - down, across), "left": (across, down)}[one.direction]
            if abs(aside - 0.5) > along / 2:
                continue
        return COLOURS[one.colour]
    return (BACKGROUND,) * 3


def test_an_arrow_points_to_its_side():
    tips = {"up": (0, slice(None)), "down": (-1, slice(None)), "left": (slice(None), 0), "right": (slice(None), -1)}
    for direction, tip in tips.items():
        red = (pixels(Widget("arrow", "red", (2, 2, 5, 5), direction))[8:20, 8:20] == RED).all(2)
        narrow, wide = red[tip].sum(), red[tuple(-1 - one if isinstance(one, int) else one for one in tip)].sum()
        assert narrow < 3 and wide == 12


def test_order_does_not_matter():
    one, other = Widget("button", "red", (0, 0, 2, 2)), Widget("field", "blue", (4, 4, 6, 6))
    assert draw_screen((one, other)) == draw_screen((other, one))


def test_difficulty_equals_its_docstring():
    for box, weight in (((0, 0, 2, 1), 1.5), ((0, 0, 4, 3), 0.5), ((1, 1, 3, 3), 0.9)):
        assert difficulty(make_task(metadata={"box": list(box)})) == pytest.approx(0.5 + (weight - 0.5), abs=1e-9)


def test_a_click_counts_at_the_middle_of_its_unit():
    assert cell_box(make_task(metadata={"box": [1, 1, 3, 3]})) == (0.5, 0.5, 2.5, 2.5)


@pytest.mark.parametrize(
    ("text", "box"),
    [
        ("1 2 5 4", (1, 2, 5, 4)),
        (" 1 2 5 4 ", (1, 2, 5, 4)),
        ("1 2 5", None),
        ("1 2 5 x", None),
        ("-1 2 5 4", None),
        ("1 2 5 4 " * 9, None),
        ("\u0661 2 5 4", None),
        ("", None),
    ],
)
def test_predicted_box_is_four_whole_numbers(text, box):
    assert predicted_box(make_trajectory(texts=[text])) == box


@pytest.mark.parametrize(
    "options", [{"count": 0}, {"count": 5}, {"count": 2, "kinds": ()}, {"count": 2, "kinds": ("x",)}]
)
def test_invalid_screens_raise(options):
    with pytest.raises(InputError, match="1 to 4 widgets"):
        draw_widgets(random.Random(0), "train", **options)
