import pytest

from handaxe.core.errors import TaskError
from handaxe.core.records import Message, ParsedTurn, Task, ToolCall, ToolSchema
from handaxe.envs.tool_choice import tool_choice

TOOLS = [ToolSchema(name, "", {"type": "object", "properties": {}}) for name in ("add", "halve")]


def task(tools=None):
    return Task("t", (Message("user", "?"),), tools=tools)


@pytest.mark.parametrize(
    "turn", [ParsedTurn("hm"), ParsedTurn("", (ToolCall("add", {}, "c0"),)), ParsedTurn("", (), ("bad",))]
)
def test_first_turn_completes_without_running_tools(turn):
    env = tool_choice(TOOLS)(task())
    reply = env.step(turn, seed=0)
    assert reply.done and not reply.messages and not reply.replies and reply.ending is None


def test_task_offers_the_tools_that_it_names():
    assert [s.name for s in tool_choice(TOOLS)(task()).start()[1]] == ["add", "halve"]
    assert [s.name for s in tool_choice(TOOLS)(task(("halve",))).start()[1]] == ["halve"]
    assert tool_choice(TOOLS)(task(())).start()[1] == ()
    with pytest.raises(TaskError, match="offers search, but there are add, halve"):
        tool_choice(TOOLS)(task(("search",)))
