"""Constants of the method toolrl_scales, read by the tests of every method (tests/papers)."""

import numpy as np
from helpers.methods import made

from handaxe.testing.make_records import make_group, make_trajectory


def scores(step, *words):
    method = made("toolrl_scales", *words)
    (task,) = method.world.tasks("train", 1, 0)[:1]
    pair = [make_trajectory(texts=[text], task=task) for text in ("4", "")]
    vars(pair[1]).update(turns=())
    return method.reward(make_group(trajectories=pair, task=task, step=step))


def test_changing_weights_move_rewards_until_the_last_weights():
    early, late = scores(0), scores(20)
    assert np.ptp(early.channels["format"]) > 0
    assert early.channels["moved"].min() > 0 and not late.channels["moved"].any()
    constant = scores(0, "--format-weights", "1", "1", "--call-weights", "1", "1")
    assert not constant.channels["moved"].any()
    assert np.allclose(late.outcome, late.channels["calls"] + late.channels["format"])
