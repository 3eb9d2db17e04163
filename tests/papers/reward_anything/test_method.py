"""Constants of the method reward_anything, read by the tests of every method (tests/papers), and its reward by hand."""

import pytest
from helpers.methods import made

from handaxe.core.records import Group, Message
from handaxe.models.chat_formats.compact import Compact
from handaxe.worlds.parts.demonstrate import demonstrate

ABOUT_REWARDS = True


def test_the_reward_weighs_order_and_form():
    method = made("reward_anything")
    task = method.world.tasks("train", 1, 0)[0]
    whole = str(method.world.expert(task, {}).content)
    turned = {name: 6 - score for name, score in task.answer.items()}
    reverse = f'{{"scores":{str(turned).replace(chr(39), chr(34))}}}'
    env = method.world.env(())
    ones = [
        demonstrate(env, task, lambda task, facts, text=text: Message("assistant", text), format=Compact(), max_turns=1)
        for text in (whole, reverse, "")
    ]
    scores = method.reward(Group(task, tuple(ones)))
    assert scores.outcome.tolist() == pytest.approx([0.7 + 0.3 * 0.95, 0.3 * 0.5, 0.0])
    assert scores.channels["agreement"].tolist() == [1, 0, 0]
