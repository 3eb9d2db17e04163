import pytest

from handaxe.core.records import ToolCall
from handaxe.rewards.parts.points import call_point, parse_point


@pytest.mark.parametrize(
    ("value", "point"),
    [
        ("3 5", (3, 5)),
        (" 3,  5 ", (3, 5)),
        ("-3 0.5", (-3, 0.5)),
        ([3, 5], (3, 5)),
        ((3, 5.5), (3, 5.5)),
        ("3", None),
        ("3 5 7", None),
        ("x 5", None),
        ("\u0663 5", None),
        ("9" * 10 + " 5", None),
        ([3, "5"], None),
        ([3], None),
        ([3, float("nan")], None),
        ([True, 3], None),
        (None, None),
        (35, None),
    ],
)
def test_a_point_is_two_numbers(value, point):
    assert parse_point(value) == point


def test_x_and_y_come_before_a_point():
    assert call_point(ToolCall("click", {"x": 3, "y": 5, "point": "1 1"})) == (3, 5)
    assert call_point(ToolCall("click", {"point": "1 1"})) == (1, 1)
    assert (
        call_point(ToolCall("click", {"x": "3", "y": 5})) is None and call_point(ToolCall("click", {"ref": 3})) is None
    )
