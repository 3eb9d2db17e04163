import itertools
from dataclasses import replace

import pytest
from helpers.methods import made

from handaxe.core.records import Ending, ToolCall
from handaxe.testing.make_records import make_group, make_trajectory

ABOUT_REWARDS = True
CALLS = {4: ToolCall("zoom", {"box": "0 6 2 8"}), 2: ToolCall("zoom", {"text": "0 6 2 8"}), 0: None}


def test_every_correct_answer_earns_more_than_any_calls():
    method = made("adareasoner", "--world.train", "0")
    reward, world = method.reward, method.world
    (task,) = world.tasks("train", 1, 0)
    tools = world.env(world.tools)(task).start()[1]

    def rollout(scores, answer, **options):
        calls = [[CALLS[score]] if CALLS[score] else [] for score in scores]
        one = make_trajectory(texts=[""] * len(scores) + [answer], calls=[*calls, []], task=task, **options)
        return replace(one, tools=tools)

    wrong = [rollout(scores, "no") for n in range(4) for scores in itertools.product(CALLS, repeat=n)]
    right = [rollout(scores, task.answer) for n in range(4) for scores in itertools.product(CALLS, repeat=n)]
    broken = [
        rollout((4,), task.answer, errors=[["not JSON"], []]),
        rollout((4,), task.answer, ending=Ending("truncated", "turns")),
    ]
    found = reward(make_group(task=task, trajectories=[*wrong, *right, *broken])).outcome
    assert set(found[len(wrong) : -2]) == {8.0} and found[: len(wrong)].max() == 4.0 and set(found[-2:]) == {0.0}
    by_hand = {(4, 2, 0): 3.0, (4, 0, 2): 2.0, (): 0.0}
    for scores, value in by_hand.items():
        assert reward(make_group(task=task, trajectories=[rollout(scores, "no")])).outcome[0] == pytest.approx(value)
