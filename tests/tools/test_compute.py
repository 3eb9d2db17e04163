import pytest

from handaxe.core.errors import Retry
from handaxe.core.records import ToolCall
from handaxe.tools.compute import compute


@pytest.mark.parametrize(
    "left, operator, right, result",
    [(12, "*", 34, "408"), (1, "+", 2, "3"), (1, "-", 2, "-1"), (7, "//", 2, "3"), (7, "%", 2, "1")],
)
def test_compute_gives_exact_values(left, operator, right, result):
    reply = compute.run(ToolCall("compute", {"left": left, "operator": operator, "right": right}))
    assert (reply.status, reply.content) == ("ok", result)


def test_division_by_zero_and_large_results_raise_retry():
    for operator in ("//", "%"):
        with pytest.raises(Retry, match="by zero"):
            compute(1, operator, 0)
    big = 10**3000
    with pytest.raises(Retry, match="too large"):
        compute(big, "*", big)
    for arguments in ({"left": 1, "operator": "^", "right": 2}, {"left": 1.5, "operator": "+", "right": 2}):
        assert compute.run(ToolCall("compute", arguments)).status == "invalid"
    assert list(compute.schema.parameters["properties"]) == ["left", "operator", "right"]
