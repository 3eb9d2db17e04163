"""Recipes whose steps train whatever ends first, and what they make of it."""

import numpy as np
import pytest

from handaxe.core.records import ToolCall, ToolReply
from handaxe.methods.build import make_method, make_world
from handaxe.methods.run_spec import run_template
from handaxe.testing.records import make_group, make_rated, make_trajectory


def made(name, **options):
    chosen = run_template(name).read(options)
    return make_method(chosen, make_world(chosen))


@pytest.mark.parametrize("first_come", [False, True])
def test_asearcher_waits_for_its_groups_unless_told_otherwise(first_come):
    pace = made("asearcher", first_come=first_come).pace
    assert (pace.staleness, pace.first_come) == (4, first_come)


@pytest.mark.parametrize("power, wanted", [(1.0, [2 / 11, 20 / 11]), (0.0, [1.0, 1.0])])
def test_rl_mle_races_and_weighs_what_came_of_it(power, wanted):
    method = made("rl_mle", power=power)
    assert method.pace.first_come and method.pace.staleness == 4 and method.settings.group_size == 1
    replies = [[[ToolReply("c0", "run", "done", seconds=seconds)]] for seconds in (1.0, 10.0)]
    tried = [make_trajectory(calls=[[ToolCall("run", {}, "c0")]], replies=one) for one in replies]
    rated = [make_rated(group=make_group(trajectories=[one]), advantage=[1.0]) for one in tried]
    levels = [float(np.max(one.advantages.tokens[0][0])) for one in method.shape(rated)]
    assert levels == pytest.approx(wanted)
