import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.core.records import Message, ParsedTurn, Task, ToolCall
from handaxe.envs.tool_chat import tool_chat
from handaxe.papers.bats.limited_tools import ToolLedger, limited_tools
from handaxe.tools.decorator import tool

RUN = []


@tool
def find(query: str) -> str:
    """Find.

    Args:
        query: words.
    """
    RUN.append(query)
    return f"found {query}"


@tool
def note(text: str) -> str:
    """Note.

    Args:
        text: words.
    """
    return "noted"


TASK = Task("t", (Message("user", "who?"),))


def opened(ledger, *, tell=True):
    RUN.clear()
    env = limited_tools(tool_chat([find, note]), ledger, tell=tell)(TASK)
    return env, env.start()[0]


def turn(*calls, errors=()):
    made = [ToolCall(name, {"query" if name == "find" else "text": f"{n}"}, f"c{n}") for n, name in enumerate(calls)]
    return ParsedTurn("", tuple(made), tuple(errors), "")


def test_a_call_beyond_the_limit_is_refused_and_not_executed():
    ledger = ToolLedger({"find": 1})
    env, _ = opened(ledger)
    reply = env.step(turn("find", "find", "note"), seed=0)
    assert RUN == ["0"] and not reply.done
    assert [(one.call_id, one.status) for one in reply.replies] == [("c0", "ok"), ("c2", "ok"), ("c1", "invalid")]
    assert [message.content for message in reply.messages] == [
        "found 0", "noted", "no call of find is left", "find used: 1, remaining: 0",
    ]  # fmt: skip
    assert (ledger.used, ledger.refused) == ({"find": 1, "note": 1}, {"find": 1}) and ledger.exhausted


def test_a_turn_of_refused_calls_does_not_end_the_rollout():
    env, _ = opened(ToolLedger({"find": 0}), tell=False)
    reply = env.step(turn("find"), seed=0)
    assert not reply.done and [one.content for one in reply.messages] == ["no call of find is left"] and not RUN
    malformed = env.step(turn("find", errors=("not closed",)), seed=0)
    assert not malformed.done and "not closed" in malformed.messages[0].content


def test_an_answer_ends_the_rollout_without_a_tracker():
    env, _ = opened(ToolLedger({"find": 1}))
    reply = env.step(ParsedTurn("me"), seed=0)
    assert reply.done and reply.messages == ()


def test_the_opening_describes_regimes_and_limits_if_told():
    (first,) = TASK.messages
    _, (same, told) = opened(ToolLedger({"find": 2}))
    assert same == first and told.name == "budget"
    assert "HIGH (70%" in told.content and told.content.endswith("find used: 0, remaining: 2")
    assert opened(ToolLedger({"find": 2}), tell=False)[1] == (first,)


def test_environments_share_a_ledger():
    ledger = ToolLedger({"find": 1})
    opened(ledger)[0].step(turn("find"), seed=0)
    env, messages = opened(ledger)
    assert messages[-1].content.endswith("find used: 1, remaining: 0")
    env.step(turn("find"), seed=0)
    assert RUN == [] and ledger.refused["find"] == 1


@given(st.integers(0, 3), st.lists(st.lists(st.sampled_from(["find", "note", "unknown"]), max_size=5), max_size=6))
def test_no_script_exceeds_a_limit(limit, script):
    ledger = ToolLedger({"find": limit})
    env, _ = opened(ledger)
    asked = 0
    for calls in script:
        asked += calls.count("find")
        env.step(turn(*calls), seed=0)
    assert len(RUN) == ledger.used["find"] == min(limit, asked) and ledger.refused["find"] == asked - len(RUN)


def test_negative_limits_raise():
    with pytest.raises(InputError, match="limits of tools are 0 or more: {'find': -1}"):
        ToolLedger({"find": -1})
