import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import ToolCall
from handaxe.papers.tattoo.grounded_calls import grounded_call


@pytest.mark.parametrize(
    "check, call",
    [
        ("b1", ToolCall("lookup", {"cell": "b1"})),
        ("45+50", ToolCall("calculator", {"expression": "45+50"})),
        ("93*2-1", ToolCall("calculator", {"expression": "93*2-1"})),
    ],
)
def test_a_lookup_or_calculation_becomes_a_call(check, call):
    assert grounded_call(check) == call


@pytest.mark.parametrize("check", ["", "45", "b12", "b1+c2", "45+", "len('a')"])
def test_other_texts_are_refused(check):
    with pytest.raises(InputError, match="no tool checks"):
        grounded_call(check)
