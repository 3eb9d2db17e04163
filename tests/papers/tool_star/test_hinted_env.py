import pytest

from handaxe.core.records import Message, ParsedTurn, Task, ToolCall
from handaxe.core.requests import Act
from handaxe.envs.tool_chat import tool_chat
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.tool_star.hinted_env import HINT, hinted
from handaxe.rollouts.driver.workers import Workers
from handaxe.tools.calculator import calculator
from handaxe.worlds.parts.demonstrate import demonstrate

TASK = Task("t", (Message("user", "2*7=?"),))
CALL = ParsedTurn("", (ToolCall("calculator", {"expression": "2*7"}, "c0"),))
ANSWER = ParsedTurn("14")
env = hinted(tool_chat([calculator]))


def test_an_answer_without_a_call_gets_one_hint():
    made = env(TASK)
    assert made.start() == tool_chat([calculator])(TASK).start()
    met = made.step(ANSWER, seed=0)
    assert met.messages == (Message("user", "Use a tool. 2*7=?", name=HINT),) and not met.done and not met.replies
    assert made.step(ANSWER, seed=1).done
    assert made.report()["hinted"] is True and made.report()["replies"] == {}


def test_calls_and_malformed_calls_get_no_hint():
    for first in (CALL, ParsedTurn("", errors=("not JSON",))):
        made = env(TASK)
        assert made.step(first, seed=0).messages[0].role == "tool"
        assert made.step(ANSWER, seed=1).done and made.report()["hinted"] is False


def test_a_snapshot_restores_the_hint_state():
    made, other = env(TASK), env(TASK)
    made.step(ANSWER, seed=0)
    other.restore(made.snapshot())
    assert other.step(ANSWER, seed=1).done and other.report()["hinted"] is True


class Plain:
    """An environment without `astep`."""

    def __init__(self, env):
        self.env = env

    def step(self, turn, *, seed):
        return self.env.step(turn, seed=seed)


@pytest.mark.parametrize("inside", ["astep", "step"])
def test_async_steps_give_the_same_replies(inside):
    here, there, found = env(TASK), env(TASK), []
    if inside == "step":
        there.env = Plain(there.env)
    workers = Workers(2)
    try:
        for ticket, turn in enumerate((ANSWER, CALL, ANSWER)):
            workers.submit(ticket, Act(there, turn, 0))
            ((_, answer),) = workers.ready(None)
            found.append(answer.value)
    finally:
        workers.close()
    told = [here.step(turn, seed=0) for turn in (ANSWER, CALL, ANSWER)]
    assert [(one.messages, one.done) for one in found] == [(one.messages, one.done) for one in told]
    assert [one.done for one in found] == [False, False, True]


def test_the_limit_of_open_environments_is_kept():
    bounded = tool_chat([calculator])
    bounded.most = 3
    assert hinted(bounded).most == 3 and not hasattr(hinted(tool_chat([])), "most")


def test_the_hint_is_read_and_never_trained():
    said = iter((Message("assistant", "9"), Message("assistant", "", CALL.calls), Message("assistant", "14")))
    one = demonstrate(env, TASK, lambda task, facts: next(said), format=Compact())
    assert one.ending.kind == "completed" and one.env["hinted"] and len(one.turns) == 3
    (sequence,) = one.sequences
    trained = Compact().decode(sequence.ids[sequence.mask])
    assert "Use a tool" in Compact().decode(sequence.ids) and "Use a tool" not in trained


def test_a_failing_hint_opens_no_environment():
    opened = []

    def watched(task):
        opened.append(task)
        return tool_chat([calculator])(task)

    def broken(task):
        raise KeyError("hint")

    with pytest.raises(KeyError):
        hinted(watched, hint=broken)(TASK)
    assert opened == []
