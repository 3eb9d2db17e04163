from functools import partial

import pytest

from handaxe.core.records import Message, Task
from handaxe.evaluation.attack_trials import LabCase
from handaxe.rewards.exact_match import exact_match
from handaxe.rewards.failure_shaping import failure_shaping
from handaxe.testing.make_records import make_group, make_task, make_trajectory
from handaxe.worlds.arithmetic import arithmetic

CONTRACT = [{"base": exact_match()}]
LAB = [
    LabCase(
        "failure_shaping(...)",
        partial(arithmetic, easy=0.0, mistakes=True),
        lambda world: failure_shaping(base=world.correct),
    ),
]

TASK = make_task(answer="4")


def rollout(exchanges, right, task=TASK):
    """Messages: user, then assistant and tool for each exchange, then the answer: 2 + 2 * exchanges."""
    count = exchanges + 1
    calls, replies = [["f"]] * exchanges + [[]], [["1"]] * exchanges + [[]]
    texts = [""] * exchanges + ["4" if right else "5"]
    made = make_trajectory(texts=texts, calls=calls, replies=replies, task=task)
    assert len([m for m in made.messages if m.role != "system"]) == 2 * count
    return made


def test_failure_shaping_matches_the_docstring_example():
    group = make_group(trajectories=[rollout(0, True), *(rollout(k, False) for k in (0, 1, 3, 5)), rollout(5, True)])
    scores = failure_shaping(base=exact_match())(group)
    assert scores.outcome.tolist() == pytest.approx([1, -1, -0.9, -0.7, -0.6, 1])
    assert scores.channels["on"].tolist() == [1, 0, 0, 0, 0, 1]


def test_the_system_message_does_not_count():
    task = Task("t", (Message("system", "be brief"), Message("user", "2+2?")), "4")
    group = make_group(trajectories=[rollout(1, False, task)], task=task)
    assert failure_shaping(base=exact_match())(group).outcome.tolist() == pytest.approx([-0.9])


def test_without_a_bonus_rewards_are_plus_and_minus_one():
    group = make_group(trajectories=[rollout(0, True), rollout(4, False)])
    assert failure_shaping(base=exact_match(), bonus=0.0)(group).outcome.tolist() == [1, -1]


def test_no_turn_is_worse_than_any_answer():
    group = make_group(trajectories=[make_trajectory(layouts=["UUt"], task=TASK)])
    assert failure_shaping(base=exact_match())(group).outcome.tolist() == pytest.approx([-1.05])
