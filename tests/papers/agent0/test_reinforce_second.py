import pytest

from handaxe.core.errors import InputError
from handaxe.curricula.in_order import in_order
from handaxe.papers.agent0.reinforce_second import reinforce_second
from handaxe.training.loop.aux_policy import AuxLearner
from handaxe.training.record import RunRecord


def asking(world, **changes):
    rollout = world.proposing(read=world.read_anything, solve=world.linear(max_turns=2), samples=2)
    return {
        **world.TRAIN,
        "tasks": in_order([world.OPENING]),
        "rollout": rollout,
        "reward": world.by_ids,
        "steps": 2,
        **changes,
    }


def test_the_second_policy_trains_and_the_own_policy_does_not(world, tmp_path):
    second, site = AuxLearner(), world.speaking_site(out=tmp_path)
    before = world.weights(site.engine)
    metrics = reinforce_second(second=second, aux_name="solver", arguments=asking(world))(site)
    assert world.same(before, world.weights(site.engine)) and site.engine.version == 0
    assert second.engine.version == 2 and not world.same(before, world.weights(second.engine))
    assert all(row["asked/solver/tokens"] > 0 for row in metrics)
    with RunRecord.open(tmp_path) as record:
        asked = [one for t in record.trajectories() for one in t.aux_turns]
        assert {one.by for one in asked} == {"solver"} and sum(row["asked/solver/turns"] for row in metrics) >= len(
            asked
        )
    final = world.weights(second.engine)
    again, fresh = AuxLearner(), world.speaking_site(out=tmp_path, resume=True)
    reinforce_second(second=again, aux_name="solver", arguments=asking(world))(fresh)
    assert world.same(final, world.weights(again.engine)) and world.same(before, world.weights(fresh.engine))


def test_unknown_and_reserved_arguments_are_rejected(world):
    with pytest.raises(InputError, match="no argument setps"):
        reinforce_second(second=AuxLearner(), aux_name="solver", arguments={"setps": 1})
    with pytest.raises(InputError, match="the context of a stage sets engine"):
        reinforce_second(second=AuxLearner(), aux_name="solver", arguments={"engine": 1})
