import math

from handaxe.view.curve import curve


def test_points_and_names_are_there():
    drawing = curve(
        {"reward": [(0, 0.0), (10, 1.0)], "accuracy": [(0, 0.5), (10, 0.5)]}, title="otc", width=60, height=10
    )
    lines = drawing.plain.splitlines()
    assert "otc" in lines[0] and "reward" in lines[-1] and "accuracy" in lines[-1]
    assert len(lines) == 11 and max(map(len, lines)) <= 60
    rising = [line.index(char) for line in lines for char in line if "\u2800" < char <= "\u28ff"]
    assert rising[0] > rising[-1], "higher on the right"
    assert any("\u2022" * 20 in line for line in lines), "the flat series is a flat line"


def test_what_is_not_finite_is_left_out():
    points = [(0, 1.0), (1, math.nan), (2, math.inf), (3, 2.0)]
    assert curve({"a": points}).plain == curve({"a": [(0, 1.0), (3, 2.0)], "b": [(0, math.nan)]}).plain


def test_nothing_to_draw():
    assert curve({}).plain == curve({"a": []}).plain == curve({"a": [(0, math.nan)]}).plain == ""


def test_a_name_cannot_act():
    assert "\x1b" not in curve({"\x1b[2J": [(0, 0.0), (1, 1.0)]}, title="\x1b]0;x\x07").plain


def test_one_drawing_leaves_nothing_for_the_next():
    first = curve({"a": [(0, 0.0), (1, 1.0)]}).plain
    curve({"b": [(0, 5.0), (9, 7.0)]}, title="other")
    assert curve({"a": [(0, 0.0), (1, 1.0)]}).plain == first
