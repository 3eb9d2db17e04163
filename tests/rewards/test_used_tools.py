import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import ToolReply
from handaxe.rewards.used_tools import used_tools
from handaxe.testing.records import make_group, make_trajectory


def attempt(*replies):
    said = [ToolReply(f"0-{i}", name, "", status) for i, (name, status) in enumerate(replies)]
    return make_trajectory(texts=[""], calls=[[one.name for one in said]], replies=[said])


def outcome(*attempts, **options):
    return used_tools(**options)(make_group(trajectories=attempts)).outcome.tolist()


HALF = attempt(("search", "ok"), ("python", "failed"))
BOTH = attempt(("python", "ok"), ("search", "ok"))


def test_example():
    assert outcome(HALF, tools=("search", "python")) == [1]
    assert outcome(HALF, BOTH, tools=("search", "python"), every=True) == [0, 1]


def test_any_tool_and_no_tool():
    refused = attempt(("search", "invalid"), ("search", "timeout"), ("search", "retry"), ("search", "infra_error"))
    assert outcome(HALF, attempt(), refused) == [1, 0, 0]
    assert outcome(BOTH, tools=("files",)) == [0]


@pytest.mark.parametrize("options", [{"every": True}, {"tools": "search"}])
def test_what_names_no_tools(options):
    with pytest.raises(InputError, match="give the names of tools"):
        used_tools(**options)
