from functools import partial

import pytest

from handaxe.core.errors import InputError
from handaxe.evaluation.attack_trials import LabCase
from handaxe.ops.seeds import derive_seed
from handaxe.papers.pure.verifiable_share import verifiable_share
from handaxe.rewards.exact_match import exact_match
from handaxe.testing.make_records import make_group, make_task, make_trajectory
from handaxe.worlds.worked_steps import worked_steps

CONTRACT = [{"reward": exact_match(), "share": 1.0}]
LAB = [
    LabCase(
        "verifiable_share(share=1.0)",
        partial(worked_steps),
        lambda world: verifiable_share(reward=world.correct, share=1.0),
    )
]


def scored(name, share):
    task = make_task(id=name, answer="4")
    group = make_group(task=task, trajectories=[make_trajectory(texts=[text], task=task) for text in ("4", "5")])
    scores = verifiable_share(reward=exact_match(), share=share)(group)
    return scores.outcome.tolist(), scores.channels["verifiable"].tolist()


def test_tasks_below_the_share_keep_the_reward():
    """u of a task is its hash over a million, by hand."""
    names = [f"task-{number}" for number in range(400)]
    known = 0
    for name in names:
        u = (derive_seed("verifiable", name) % 1_000_000) / 1_000_000
        outcome, channel = scored(name, 0.1)
        assert outcome == ([1, 0] if u < 0.1 else [0, 0])
        assert channel == [1, 0]
        known += u < 0.1
    assert 20 <= known <= 60


def test_a_larger_share_has_the_tasks_of_a_smaller_share():
    names = [f"task-{number}" for number in range(100)]
    few = {name for name in names if scored(name, 0.2)[0][0]}
    many = {name for name in names if scored(name, 0.6)[0][0]}
    assert few < many
    assert all(scored(name, 1.0)[0] == [1, 0] and scored(name, 0.0)[0] == [0, 0] for name in names)


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan")])
def test_a_share_out_of_range_is_an_error(share):
    with pytest.raises(InputError, match="share is"):
        verifiable_share(reward=exact_match(), share=share)
