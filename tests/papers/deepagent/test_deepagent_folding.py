from helpers.methods import made

from handaxe.core.records import Group
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.deepagent.folded_hops import folded_hops
from handaxe.training.sft.cold_start import demonstrations
from handaxe.worlds.parts.demonstrate import demonstrate


def test_a_completed_rollout_that_folds_earns_half_a_call_more():
    method = made("deepagent_folding")
    world, task = method.world, folded_hops(lengths=(2,)).tasks("train", 1, 0)[0]
    one = demonstrate(world.env(world.tools), task, world.expert, format=Compact(), rollout=method.rollout)
    assert len(one.sequences) == 2
    channels = method.reward(Group(task, (one,))).channels
    assert channels["success"] == [1.0] and channels["action"] == [2.5]
    plain = made("deepagent_folding", "--fold", "0").reward(Group(task, (one,)))
    assert plain.channels["action"] == [2.0]


def test_demonstrations_of_the_start_fold_and_earn_the_reward_for_folds():
    method, plain = made("deepagent_folding"), made("deepagent_folding", "--fold", "0")
    world = method.world
    tasks = world.tasks("train", 100, 0)
    played = demonstrations(world, world.env(world.tools), tasks, noise=world.start.noise, count=100, seed=0)
    paid = [
        float((method.reward(group).channels["action"] - plain.reward(group).channels["action"])[0])
        for group in (Group(one.task, (one,)) for one in played)
    ]
    assert set(paid) == {0.0, 0.5} and sum(paid) / 0.5 / len(paid) == 0.47
