"""Constants of the method search_gen_v, read by the tests of every method (tests/papers), and its reward by hand."""

import pytest
from helpers.methods import made

from handaxe.core.records import Group, Message
from handaxe.models.chat_formats.compact import Compact
from handaxe.worlds.parts.demonstrate import demonstrate

ABOUT_REWARDS = True
DEAD_PARTS = {"overlong"}
SHORT = ["--distil-steps", "2"]


def test_the_reward_is_the_agreement_of_labels_less_the_penalty_of_length():
    method = made("search_gen_v")
    task = next(task for task in method.world.tasks("train", 20, 0) if not task.metadata["terse"])
    whole = str(method.world.expert(task, {}).content)
    marks, _, labels = whole.partition("</reasoning>")
    env = method.world.env(())
    ones = [
        demonstrate(env, task, lambda task, facts, text=text: Message("assistant", text), format=Compact(), max_turns=1)
        for text in (whole, labels, f"{marks} {'x' * 80}</reasoning>{labels}", "")
    ]
    scores = method.reward(Group(task, tuple(ones)))
    assert scores.channels["correct"].tolist() == pytest.approx([1.0, 0.8, 1.0, 0.0])
    assert scores.channels["overlong"].tolist() == pytest.approx([0.0, 0.0, -1.0, 0.0])
    assert scores.outcome.tolist() == pytest.approx([1.0, 0.8, 0.0, 0.0])
