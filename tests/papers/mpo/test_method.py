"""Constants of the method mpo, read by the tests of every method (tests/papers), and its reward by hand."""

from helpers.methods import made

from handaxe.core.records import Group, Message
from handaxe.models.chat_formats.compact import Compact
from handaxe.worlds.parts.demonstrate import demonstrate

ABOUT_REWARDS = True
DEAD_PARTS = {"quality"}
MAY_TIE = "the first rubric counts required letters, which the paper's updates refine"
FALLS = "its first rubric counts required letters; updates of the rubric during training close the gaps"
REMEMBERS = "versions of the rubric"
RESUMED = ["--interval", "1"]


def test_the_reward_is_the_points_of_the_first_rubric():
    method = made("mpo")
    task = method.world.tasks("train", 1, 0)[0]
    first = task.metadata["required"][0]
    lines = (task.metadata["required"], first * 5, "")
    env = method.world.env(())
    ones = [
        demonstrate(env, task, lambda task, facts, line=line: Message("assistant", line), format=Compact(), max_turns=1)
        for line in lines
    ]
    scores = method.reward(Group(task, tuple(ones)))
    assert scores.outcome.tolist() == [3, 5, 0]
    assert scores.channels["quality"].tolist() == [1, 0, 0]
