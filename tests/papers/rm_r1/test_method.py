"""Constants of the method rm_r1, read by the tests of every method (tests/papers), and its stages."""

from helpers.methods import made

from handaxe.core.records import Group, Message
from handaxe.models.chat_formats.compact import Compact
from handaxe.worlds.parts.demonstrate import demonstrate

ABOUT_REWARDS = True
SHORT = ["--distil-steps", "2"]


def test_the_reward_reads_the_verdict_alone():
    method = made("rm_r1")
    task = method.world.tasks("train", 1, 0)[0]
    gold, other = ("[[A]]", "[[B]]") if task.answer == "A" else ("[[B]]", "[[A]]")
    texts = [
        method.world.expert(task, {}).content,
        f"R 99 {gold}",
        gold,
        other,
        f"{gold}x{other}",
        f"{gold} and so it is said",
    ]
    env = method.world.env(())
    ones = [
        demonstrate(env, task, lambda task, facts, text=text: Message("assistant", text), format=Compact(), max_turns=1)
        for text in texts
    ]
    assert method.reward(Group(task, tuple(ones))).outcome.tolist() == [1, 1, 1, -1, -1, -1]
    assert made("rm_r1", "--tail", "40").reward(Group(task, tuple(ones))).outcome.tolist() == [1, 1, 1, -1, -1, 1]
