from handaxe.core.records import Message, Task
from handaxe.papers.language_to_rewards.expert_share import expert_share
from handaxe.papers.language_to_rewards.instructions import Motion


def task(stance):
    motion = list(Motion(speed="slow"))
    return Task(stance, (Message("user", "walk"),), None, metadata={"motion": motion, "stance": stance})


def test_expert_share_matches_its_example():
    assert expert_share([task("none"), task("high")]) == {"rewards": 1.0, "primitives": 0.5}
