from dataclasses import replace

import pytest

from handaxe.core.errors import InputError
from handaxe.methods.build import build, make_method, make_world
from handaxe.methods.rl_stage import update_arguments
from handaxe.methods.run_spec import run_template
from handaxe.training.loop.early_stop import stop_above
from handaxe.training.loop.train import train


def test_stop_above_stops_beyond_the_bound_and_not_on_it():
    stop = stop_above("loss/approx_kl", 20.0)
    assert stop({"loss/approx_kl": 20.5}) is True and stop({"loss/approx_kl": 20.0}) is False


def test_stop_above_names_an_unknown_metric_and_the_known_ones():
    with pytest.raises(InputError, match="'approx_kl'; it has grad_norm, loss/approx_kl"):
        stop_above("approx_kl", 1.0)({"loss/approx_kl": 1.0, "grad_norm": 2.0})


def test_run_skips_optimiser_steps_after_an_early_stop(world):
    given = {"steps": 1, "epochs": 2, "minibatches": 2}
    (plain,) = train(**world.arguments(**given, early_stop=stop_above("grad_norm", 1e9))).metrics
    (ended,) = train(**world.arguments(**given, early_stop=stop_above("grad_norm", -1.0))).metrics
    assert (plain["optimiser_steps"], ended["optimiser_steps"]) == (4, 1)


def test_method_passes_early_stop_to_the_run_and_to_earlier_stages():
    made = run_template("grpo_no_kl").read({"model": "tiny", "held_out": 1})
    method = replace(make_method(made, make_world(made)), early_stop=stop_above("loss/approx_kl", 20.0))
    assert build(made, method=method)["updates"].early_stop is method.early_stop
    assert update_arguments(method)["updates"].early_stop is method.early_stop
