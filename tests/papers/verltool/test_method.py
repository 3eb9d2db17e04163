from helpers.methods import made

from handaxe.core.records import Ending
from handaxe.testing.make_records import make_group, make_rated, make_trajectory


def test_verltool_masks_rollouts_cut_by_a_limit_and_is_asynchronous():
    method = made("verltool")
    endings = [Ending("completed"), Ending("truncated", "turns"), Ending("truncated", "length")]
    group = make_group(trajectories=[make_trajectory(ending=ending) for ending in endings])
    (one,) = method.select([make_rated(group=group, outcome=[0, 1, 2])])
    assert one.trained.tolist() == [True, False, False]
    assert not method.async_config.lockstep and made("verltool", "--lockstep").async_config.lockstep
