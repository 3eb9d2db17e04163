import pytest

from handaxe.core.errors import Retry
from handaxe.core.records import Author, Ending, Message, Task, ToolCall, check
from handaxe.core.requests import EnvReply
from handaxe.envs.tool_chat import tool_chat
from handaxe.models.chat_formats.compact import Compact
from handaxe.tools import tool
from handaxe.tools.calculator import calculator
from handaxe.worlds.parts.demonstrate import demonstrate

TASK = Task("t", (Message("user", "12*34=?"),), "408")
CALL = ToolCall("calculator", {"expression": "12*34"})


def test_tools_are_executed_and_tokens_equal_a_rollouts():
    told = []

    def speaker(task, facts):
        told.append(facts)
        return Message("assistant", facts["replies"][-1]) if facts["turn"] else Message("assistant", "", (CALL,))

    one = demonstrate(tool_chat([calculator]), TASK, speaker, format=Compact())
    check(one)
    assert one.final_text == "408" and one.ending == Ending("completed")
    assert told == [
        {"turn": 0, "replies": [], "statuses": [], "tools": ["calculator"], "sure": True},
        {"turn": 1, "replies": ["408"], "statuses": ["ok"], "tools": ["calculator"], "sure": True},
    ]
    (row,) = one.sequences
    written = [int(i) for i in row.ids[row.mask]]
    assert Compact().decode(written) == "<CALL>calculator 12*34<CALL_END><END>408<END>"
    assert set(row.author[~row.mask]) == {Author.TEMPLATE, Author.USER, Author.TOOL} and not row.logp.any()


def test_errors_reach_the_speaker():
    @tool
    def moody(x: int) -> str:
        """Refuse."""
        raise Retry("not today")

    seen = []

    def speaker(task, facts):
        seen.append((facts["statuses"], facts["replies"]))
        return Message("assistant", "no") if facts["turn"] else Message("assistant", "", (ToolCall("moody", {"x": 1}),))

    demonstrate(tool_chat([moody]), TASK, speaker, format=Compact())
    assert seen[1][0] == ["retry"] and "not today" in seen[1][1][0]


def test_environment_facts_reach_the_speaker_and_the_environment_is_closed():
    closed = []

    class Counting:
        def start(self):
            return TASK.messages, ()

        def step(self, turn, *, seed):
            return EnvReply((Message("user", "more"),), facts={"left": 1})

        def report(self):
            return {"done": True}

        def close(self):
            closed.append(1)

    seen = []

    def speaker(task, facts):
        seen.append(facts.get("left"))
        return Message("assistant", "x")

    one = demonstrate(lambda task: Counting(), TASK, speaker, format=Compact(), max_turns=2)
    assert seen == [None, 1] and closed == [1]
    assert one.ending == Ending("truncated", "turns") and one.env == {"done": True}


def test_errors_of_the_speaker_are_raised():
    def speaker(task, facts):
        raise KeyError("lost")

    with pytest.raises(KeyError, match="lost"):
        demonstrate(tool_chat([calculator]), TASK, speaker, format=Compact())
