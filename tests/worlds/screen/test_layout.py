import random

import pytest

from handaxe.core.errors import InputError
from handaxe.testing.make_records import make_task, make_trajectory
from handaxe.worlds.screen.layout import LARGEST, SIDES, SMALLEST, Screen, difficulty, draw_screen, predicted_box


def test_to_text_has_a_line_per_box():
    assert Screen({"tok": (12, 30, 40, 46), "lun": (50, 10, 80, 20)}).to_text() == "tok 12 30 40 46\nlun 50 10 80 20"


@pytest.mark.parametrize("boxes", [1, 5, 6])
def test_boxes_are_disjoint_and_on_the_screen(boxes):
    for seed in range(60):
        shown = draw_screen(random.Random(seed), "train", boxes=boxes).boxes
        assert len(shown) == boxes
        for name, (left, low, right, high) in shown.items():
            assert 10 <= left < right <= 99 and 10 <= low < high <= 99
            assert 8 <= right - left <= 40 and 8 <= high - low <= 24 and left % 10 < 8 and low % 10 < 8
            for other, (a, b, c, d) in shown.items():
                assert name == other or right < a or c < left or high < b or d < low


def test_splits_share_no_name():
    names = {
        split: {name for seed in range(80) for name in draw_screen(random.Random(seed), split, boxes=5).boxes}
        for split in ("train", "test")
    }
    assert not names["train"] & names["test"] and len(names["test"]) > 100


def test_difficulty_matches_its_example():
    def weight(width, height):
        return difficulty(make_task(metadata={"box": [10, 10, 10 + width, 10 + height]}))

    assert weight(8, 8) == pytest.approx(1.5) and weight(40, 24) == pytest.approx(0.5)
    assert weight(16, 8) == pytest.approx(0.9643, abs=1e-4)
    small, large, size = SMALLEST / 100**2, LARGEST / 100**2, 20 * 10 / 100**2
    assert weight(20, 10) == pytest.approx(0.5 + (1 / size - 1 / large) / (1 / small - 1 / large))
    assert SIDES == (100, 100)


@pytest.mark.parametrize(
    ("text", "box"),
    [
        ("12 30 40 46", (12, 30, 40, 46)),
        (" [12, 30, 40.5, 46] ", (12, 30, 40.5, 46)),
        ("12 30 40", None),
        ("1 2 3 4 5", None),
        ("", None),
        ("1 2 3 " + "4" * 100, None),
    ],
)
def test_predicted_box_parses_four_numbers(text, box):
    assert predicted_box(make_trajectory(texts=[text])) == box


def test_invalid_arguments_raise():
    for boxes in (0, 7):
        with pytest.raises(InputError, match="1 to 6 boxes"):
            draw_screen(random.Random(0), "train", boxes=boxes)
