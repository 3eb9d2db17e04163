import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Ending, Message, Sampling, Task, ToolCall, check
from handaxe.core.requests import Attempt, Completion
from handaxe.envs.tool_chat import tool_chat
from handaxe.models.chat_formats.compact import CALL, END, Compact
from handaxe.papers.simpletir.stop_on_empty_turn import stop_on_empty_turn
from handaxe.rollouts.driver.run_plan import run_plan
from handaxe.rollouts.linear import linear
from handaxe.testing.scripted_engine import encode_reply
from handaxe.tools.calculator import calculator

ENV = tool_chat([calculator])
SUM = ToolCall("calculator", {"expression": "2*3"})
OPEN = [CALL, *b"calculator 2", END]
"""A call that is not closed."""


def play(words, rollout):
    format, left = Compact(), list(words)

    def speak(name, request):
        said = left.pop(0)
        ids = said if isinstance(said, list) else encode_reply(format, said, ENV(TASK).start()[1])
        return Completion(ids, [-0.5] * len(ids), [-0.5] * len(ids), [0] * len(ids), "stop")

    attempt = Attempt(TASK, ENV, format, Sampling(max_tokens=64), "t/0", 0, 5, 1000)
    (made,) = run_plan(rollout(attempt), sample=speak)
    check(made)
    return made


TASK = Task("t", (Message("user", "2*3=?"),))


def said(trajectory):
    return [(turn.parsed, turn.seed, [reply.content for reply in turn.replies]) for turn in trajectory.turns]


def stating(turn):
    return turn.parsed.text.strip().isdigit()


def test_the_rollout_ends_at_an_empty_turn():
    made = play([SUM, OPEN, "6"], stop_on_empty_turn(answer=stating))
    assert made.ending == Ending("policy_error", "a turn held neither a call nor an answer") and len(made.turns) == 2
    whole = play([SUM, OPEN, "6"], linear(max_turns=4))
    assert whole.ending.kind == "completed" and len(whole.turns) == 3
    assert said(made) == said(whole)[:2]


@pytest.mark.parametrize("words", [["6"], [SUM, "6"], ["hm"], [SUM, SUM, "6"]])
def test_rollouts_without_empty_turns_equal_linear(words):
    """Words that are no answer end a conversation with tools by themselves."""
    made, whole = play(words, stop_on_empty_turn(answer=stating)), play(words, linear(max_turns=4))
    assert (said(made), made.ending) == (said(whole), whole.ending) and len(made.turns) == len(words)


def test_the_turn_limit_holds():
    assert play([SUM, SUM], stop_on_empty_turn(answer=stating, max_turns=2)).ending == Ending("truncated", "turns")
    with pytest.raises(InputError, match="turns"):
        stop_on_empty_turn(answer=stating, max_turns=0)
