"""Constants of the method arm_thinker, read by the tests of every method (tests/papers), and its reward by hand."""

import pytest
from helpers.methods import made

from handaxe.core.records import Group, Message, ToolCall
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.tiny_image_processor import TinyImageProcessor
from handaxe.worlds.parts.demonstrate import demonstrate

ABOUT_REWARDS = True
DEAD_PARTS = {"always", "verdict/then/then"}


def rollout(method, task, *boxes, says):
    """A rollout that zooms to the boxes, one a turn, and then answers."""
    lines = [Message("assistant", "", (ToolCall("zoom", {"box": box, "image": 1}),)) for box in boxes]
    lines.append(Message("assistant", says))
    env = method.world.env(method.world.tools)
    return demonstrate(
        env, task, lambda task, facts: lines[facts["turn"]], format=Compact(TinyImageProcessor(8)), max_turns=4
    )


def rollouts(method):
    """Correct after a look, after a failed one, without one; wrong after a look, without one; without the form."""
    task = method.world.tasks("train", 1, 0)[0]
    right, gold = str(task.answer), task.metadata["gold"]
    wrong = f"{right[:-1]}{3 - int(gold)}"
    tried = [(["0 0 2 2"], right), (["9 9 9 9"], right), ([], right), (["0 0 2 2"], wrong), ([], wrong)]
    tried += [(["0 0 2 2"], gold), (["0 0 2 2"], f"{right} "), (["0 0 2 2"], f"{right}, I think")]
    return [rollout(method, task, *boxes, says=says) for boxes, says in tried]


def outcomes(method):
    found = rollouts(method)
    return method.reward(Group(found[0].task, tuple(found))).outcome.tolist()


def test_the_reward_by_hand():
    """The numbers of the released code: 1.5, 1.0, 1.0, 0.4, 0.3, and 0 without the form."""
    pytest.importorskip("sklearn")
    assert outcomes(made("arm_thinker")) == pytest.approx([1.5, 1.0, 1.0, 0.4, 0.3, 0.0, 1.5, 0.0])
    assert outcomes(made("arm_thinker", "--bonus", "0")) == pytest.approx([1.0, 1.0, 1.0, 0.4, 0.3, 0.0, 1.0, 0.0])
    always = made("arm_thinker", "--bonus", "0", "--always", "0.5")
    assert outcomes(always) == pytest.approx([1.5, 1.0, 1.0, 0.9, 0.3, 0.0, 1.5, 0.0])


def test_the_reward_equals_a_slow_rule():
    pytest.importorskip("sklearn")
    method = made("arm_thinker")
    found = rollouts(method)
    expected = []
    for one in found:
        text = one.final_text.strip()
        thought, middle, verdict = text.rpartition(": ")
        if not middle or verdict not in ("1", "2"):
            expected.append(0.0)
            continue
        called = any(len(turn.parsed.calls) for turn in one.turns)
        succeeded = any(reply.status == "ok" for turn in one.turns for reply in turn.replies)
        if verdict == one.task.metadata["gold"]:
            expected.append(1.5 if succeeded else 1.0)
        else:
            expected.append(0.4 if called else 0.3)
    assert method.reward(Group(found[0].task, tuple(found))).outcome.tolist() == pytest.approx(expected, abs=1e-12)
