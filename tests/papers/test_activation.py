"""Every method with claims differs from its base within two small steps in its own setting."""

import pytest
from helpers.methods import own

from handaxe.commands.configure import parse_train
from handaxe.commands.train import RunOptions
from handaxe.methods.activation import measure_activation
from handaxe.methods.build import make_method, make_world
from handaxe.methods.catalog import list_methods
from handaxe.methods.run_spec import base_spec, run_template

pytest.importorskip("reasoning_gym")
NAMES = [one.name for one in list_methods() if one.page.claims and one.page.base]
SMALL = ["--steps", "2", "--groups", "4", "--group-size", "6", "--held-out", "4", "--seed", "1", "--wait", "0"]
SMALL += ["--eval-every", "0"]
LARGER = {"otc": ["--groups", "12", "--group-size", "8"]}
"""Sizes for a mechanism that needs rare groups: of correct rollouts with different numbers of calls."""
CLIPPED = ("dapo", "tapo", "thor", "aepo", "agentmath", "deepeyes_v2", "flow_grpo", "spear", "agent_evolver_joined")
"""Methods with a clip of the ratio. With one optimizer step a training step the ratio is 1."""
INERT = {
    "quickstart": "it changes the number of steps of its base; its claim is against the start",
    "verltool": "it changes the order of waiting in time, and no number of the update",
}
"""Method without a difference from its base -> reason. A method that acts leaves this table."""


@pytest.mark.slow
@pytest.mark.starts
@pytest.mark.parametrize("name", NAMES)
def test_method_differs_from_its_base_unless_it_is_listed_as_inert(name):
    words = [*SMALL, *LARGER.get(name, ()), *own(name, "SHORT", ())]
    spec = parse_train(name, words, prog="handaxe train", also={"run": RunOptions})[0]
    found = measure_activation(spec, steps=2)
    assert len(found.steps) == 2 and not any(one.reason for one in found.steps)
    assert found.acts == (name not in INERT), found


def test_inert_methods_exist():
    assert not set(INERT) - set(NAMES)


@pytest.mark.parametrize("name", CLIPPED)
def test_a_clip_acts_on_minibatches_after_the_first_on_both_sides(name):
    spec = run_template(name).default()
    base = base_spec(spec)
    assert make_method(spec, make_world(spec)).minibatches >= 4
    assert make_method(base, make_world(base)).minibatches >= 4
    assert any(one.figure.startswith("training/loss/") for one in spec.template.page.acts)
