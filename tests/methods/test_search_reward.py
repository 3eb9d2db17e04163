"""A search before a method: one stage more, and a reward that follows the program that the stage finds."""

import numpy as np
from helpers.methods import made

from handaxe.core.records import Group
from handaxe.methods.search_reward import search_reward
from handaxe.papers.icpl.preference import preference
from handaxe.testing.make_records import make_trajectory
from handaxe.training.stages.parts.program_grammar import grammar

PROGRAM = """
def compute_reward(before, after):
    return 3.0 * (after["turn"] - before["turn"]), {}
"""


def test_the_reward_is_that_of_the_base_until_a_program_is_found():
    base = made("grpo", "--model", "tiny")
    method = search_reward(base, author=grammar(), feedback=preference(), programs=2, rounds=1, trial_steps=1)
    assert len(method.stages) == len(base.stages) + 1
    task = base.world.tasks("train", 1, 0)[0]
    group = Group(task, tuple(make_trajectory(texts=[text], task=task) for text in (str(task.answer), "no")))
    assert np.array_equal(method.reward(group).outcome, base.reward(group).outcome)
    method.reward.text = PROGRAM
    assert method.reward(group).outcome.tolist() == [3.0, 3.0]
