"""Constants of the method rl_mle, read by the tests of every method (tests/papers), and its parts together."""

import numpy as np
import pytest
from helpers.methods import made

from handaxe.core.records import ToolCall, ToolReply
from handaxe.testing.make_records import make_group, make_rated, make_trajectory

FALLS = "See `world ml_engineering`."


@pytest.mark.parametrize(("power", "weights"), [("1", [2 / 11, 20 / 11]), ("0", [1.0, 1.0])])
def test_rl_mle_races_and_weights_rollouts_by_duration(power, weights):
    method = made("rl_mle", "--duration-power", power)
    assert method.async_config.race and method.async_config.staleness == 4 and method.settings.group_size == 1
    replies = [[[ToolReply("c0", "run", "done", seconds=seconds)]] for seconds in (1.0, 10.0)]
    rollouts = [make_trajectory(calls=[[ToolCall("run", {}, "c0")]], replies=one) for one in replies]
    rated = [make_rated(group=make_group(trajectories=[one]), advantage=[1.0]) for one in rollouts]
    levels = [float(np.max(one.advantages.tokens[0][0])) for one in method.transform(rated)]
    assert levels == pytest.approx(weights)
