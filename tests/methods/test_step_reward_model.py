"""The process reward model of a method: needs verdicts, gives probabilities, and orders correct and incorrect steps."""

import numpy as np
import pytest
from helpers.methods import made

from handaxe.core.errors import InputError
from handaxe.core.records import Group
from handaxe.engines.local.engine import LocalEngine
from handaxe.evaluation.scenes import make_scenes
from handaxe.methods.step_reward_model import step_reward_model
from handaxe.models.load import load


def test_a_world_without_verdicts_is_an_error():
    with pytest.raises(InputError, match="verdicts"):
        step_reward_model(made("grpo", "--world", "arithmetic"))


@pytest.mark.slow
def test_steps_are_ordered_by_the_verdicts_of_the_world():
    base = made("grpo", "--world", "worked_steps", "--world.mistakes", "1")
    world = base.world
    model, _ = step_reward_model(base, epochs=8)
    model.begin(LocalEngine(load("tiny").model))
    groups = [Group(one.task, (one.oracle,)) for one in make_scenes(world, tasks=world.tasks("train", 48, 0), count=48)]
    metrics = model.fit([(group, world.correct(group)) for group in groups[:32]])
    assert metrics["labels"] == sum(len(group[0].turns) for group in groups[:32])
    verdict_N = np.concatenate([world.verdicts(group[0]) for group in groups[32:]])
    score_N = np.concatenate([model.score_steps(group)[0] for group in groups[32:]])
    assert (score_N >= 0).all() and (score_N <= 1).all()
    assert (verdict_N < 0).any() and score_N[verdict_N > 0].mean() > score_N[verdict_N < 0].mean()
