from dataclasses import replace

import pytest

from handaxe.core.errors import InputError
from handaxe.methods.build import build, make_method, make_world
from handaxe.methods.rl_stage import update_arguments
from handaxe.methods.run_spec import run_template
from handaxe.training.loop.early_stop import above
from handaxe.training.loop.train import train


def test_example_and_what_lies_on_the_bound():
    enough = above("loss/approx_kl", 20.0)
    assert enough({"loss/approx_kl": 20.5}) is True and enough({"loss/approx_kl": 20.0}) is False


def test_a_metric_that_is_not_there_is_named_with_those_that_are():
    with pytest.raises(InputError, match="'approx_kl'; there are grad_norm, loss/approx_kl"):
        above("approx_kl", 1.0)({"loss/approx_kl": 1.0, "grad_norm": 2.0})


def test_a_run_takes_no_more_steps_than_enough(world):
    given = {"steps": 1, "epochs": 2, "minibatches": 2}
    (plain,) = train(**world.arguments(**given, enough=above("grad_norm", 1e9))).metrics
    (ended,) = train(**world.arguments(**given, enough=above("grad_norm", -1.0))).metrics
    assert (plain["optimiser_steps"], ended["optimiser_steps"]) == (4, 1)


def test_a_method_hands_it_to_the_run_and_to_stages_before_it():
    made = run_template("grpo_no_kl").read({"model": "tiny", "held_out": 1})
    method = replace(make_method(made, make_world(made)), enough=above("loss/approx_kl", 20.0))
    assert build(made, method=method)["enough"] is update_arguments(method)["enough"] is method.enough
