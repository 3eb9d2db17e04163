"""Constants of the method auto_mc_reward, read by the tests of every method (tests/papers), and its reward."""

import pytest
from helpers.methods import made

from handaxe.core.errors import InputError
from handaxe.core.records import Group
from handaxe.testing.make_records import make_trajectory

SHORT = ["--programs", "1", "--rounds", "1", "--trial-steps", "1"]
REMEMBERS = "the program of the search"
RESUMED = SHORT

PROGRAM = """
def compute_reward(before, after):
    return 0.1, {"turns": 1.0}
"""


def test_the_reward_adds_the_program_of_the_search_to_correctness():
    method = made("auto_mc_reward", "--world", "arithmetic", "--model", "tiny", "--steps", "1")
    task = method.world.tasks("train", 1, 0)[0]
    group = Group(task, tuple(make_trajectory(texts=[text], task=task) for text in (str(task.answer), "no")))
    assert method.reward(group).outcome.tolist() == [1.0, 0.0]
    program = method.reward.parts()["program"]
    program.text = PROGRAM
    scores = method.reward(group)
    assert scores.outcome.tolist() == [1.1, 0.1]
    assert scores.channels["task"].tolist() == [1.0, 0.0] and scores.channels["program"].tolist() == [0.1, 0.1]
    assert len(method.stages) == 1


@pytest.mark.parametrize("option", ["--reviewer", "--analyser"])
def test_a_reviewer_writes_texts(option):
    with pytest.raises(InputError, match=f"{option} trained: texts are written"):
        made("auto_mc_reward", option, "trained")
