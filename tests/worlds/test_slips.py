from handaxe.core.records import Group, Message
from handaxe.models.compact import Compact
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.slips import slips


def played(world, split="train", count=60):
    for task in world.tasks(split, count, 0):
        yield demonstrate(world.env(world.tools), task, world.expert, format=Compact())


def test_the_expert_is_right_and_slips_half_of_the_time():
    world, slipped = slips(), []
    for one in played(world):
        assert world.correct(Group(one.task, (one,))).outcome[0] == 1
        statuses = [reply.status for reply in one.replies]
        assert statuses in (["ok"], ["retry", "ok"]) and len(one.turns) == len(statuses) + 1
        slipped.append(len(statuses) == 2)
    assert 0.3 < sum(slipped) / len(slipped) < 0.7


def test_the_gauge_counts_first_calls_that_fail():
    world = slips()
    gauge = world.gauges["first_call_failed"]
    for one in played(world, count=20):
        assert gauge.bottom(one, 1.0) == 1 and gauge.top(one, 1.0) == (len(one.replies) == 2)
    silent = demonstrate(world.env(()), world.tasks("train", 1, 0)[0], lambda task, facts: says("7"), format=Compact())
    assert gauge.bottom(silent, 0.0) == gauge.top(silent, 0.0) == 0


def says(text):
    return Message("assistant", text)
