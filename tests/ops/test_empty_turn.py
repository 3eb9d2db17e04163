import pytest

from handaxe.ops.empty_turn import is_empty_turn
from handaxe.testing.make_records import make_trajectory


@pytest.mark.parametrize(
    ("turn", "empty"),
    [
        ({"texts": ["let me think"]}, True),
        ({"texts": [""]}, True),
        ({"texts": [""], "calls": [["python"]]}, False),
        ({"texts": ["print(1"], "errors": [["the call is not closed"]]}, True),
        ({"texts": ["\\boxed{3}"]}, False),
    ],
)
def test_empty_turn_has_neither_complete_call_nor_answer(turn, empty):
    (made,) = make_trajectory(**turn).turns
    assert is_empty_turn(made, answer=lambda turn: "\\boxed{" in turn.parsed.raw) is empty
