import pytest

from handaxe.ops.void import is_void
from handaxe.testing.records import make_trajectory


@pytest.mark.parametrize(
    ("turn", "void"),
    [
        ({"texts": ["let me think"]}, True),
        ({"texts": [""]}, True),
        ({"texts": [""], "calls": [["python"]]}, False),
        ({"texts": ["print(1"], "errors": [["the call is not closed"]]}, True),
        ({"texts": ["\\boxed{3}"]}, False),
    ],
)
def test_example(turn, void):
    (made,) = make_trajectory(**turn).turns
    assert is_void(made, answer=lambda turn: "\\boxed{" in turn.parsed.raw) is void
