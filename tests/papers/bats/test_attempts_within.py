import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Message, Sampling, Task, ToolCall
from handaxe.core.requests import Attempt
from handaxe.envs.tool_chat import tool_chat
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.bats.attempts_within import attempts_within
from handaxe.papers.bats.budget_verdict import budget_verdict
from handaxe.rollouts.driver.run_plan import run_plan
from handaxe.testing.scripted_engine import ScriptedEngine
from handaxe.tools.decorator import tool


@tool
def find(query: str) -> str:
    """Find.

    Args:
        query: words.
    """
    return f"found {query}"


class Guide:
    """Verdicts of a list, in order."""

    def __init__(self, *statuses):
        self.statuses = list(statuses)

    def opening(self, ledger):
        return f"plan, {ledger.remaining['find']} left"

    def review(self, attempts, ledger):
        return budget_verdict([self.statuses.pop(0)], needed=1, remaining=ledger.remaining["find"])


def played(guide=None, *, find_limit=9, tell=True, calls=1, **knobs):
    """Attempts of `calls` calls each, then the answer "me"; with the texts that the policy read."""
    read = []

    def script(text, turn):
        read.append(text)
        return ToolCall("find", {"query": f"q{turn}"}) if turn < calls else "me"

    engine = ScriptedEngine(Compact(), script, tools=[find.schema])
    task = Task("t", (Message("user", "who?"),), "me")
    attempt = Attempt(task, tool_chat([find]), Compact(), Sampling(max_tokens=40), "t/0", 0, 0, 2000)
    rollout = attempts_within(
        limits={"find": find_limit}, tell=tell, guide=None if guide is None else lambda task: guide, **knobs
    )
    return run_plan(rollout(attempt), sample=lambda name, request: engine.sample([request])[0]), read


def test_attempts_go_on_until_success_under_one_budget():
    found, read = played(Guide("unverifiable", "contradicted", "satisfied", "satisfied"))
    assert [one.notes["verdict"] for one in found] == ["CONTINUE", "PIVOT", "SUCCESS"]
    assert [one.notes["chosen"] for one in found] == [False, False, True]
    assert [one.id for one in found] == ["t/0/0", "t/0/1", "t/0/2"]
    assert found[-1].notes["used"] == {"find": 3} and "used" not in found[0].notes
    # the conversation of an attempt is not in the next one
    assert "<USER>who?<END><USER>plan, 8 left<END>" in read[2] and "found" not in read[2]
    assert "find used: 1, remaining: 8" in read[2]


def test_a_used_up_tool_ends_the_attempts():
    found, _ = played(Guide(*["contradicted"] * 9), find_limit=2)
    assert len(found) == 2 and found[0].notes["chosen"]


def test_the_number_of_attempts_is_bounded():
    found, _ = played(Guide(*["contradicted"] * 9), most=3, calls=0)
    assert len(found) == 3


def test_one_attempt_without_a_guide():
    (one,), read = played(tell=False, find_limit=1, calls=2)
    assert one.notes["used"] == {"find": 1} and one.notes["refused"] == {"find": 1} and one.notes["chosen"]
    assert "remaining" not in "".join(read) and "no call of find is left" in read[-1]


def test_no_attempt_raises():
    with pytest.raises(InputError, match="most is 0"):
        attempts_within(limits={}, tell=True, most=0)
