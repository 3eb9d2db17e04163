"""Both sides of a claim meet the same noise of worlds and judges."""

from functools import cache

import pytest
from helpers.methods import methods_with, own, slow_for_papers

from handaxe.commands.configure import parse_train
from handaxe.commands.train import RunOptions
from handaxe.judges.noisy import Noisy
from handaxe.methods.build import make_method, make_world
from handaxe.methods.catalog import list_methods
from handaxe.methods.run_spec import base_spec

pytest.importorskip("reasoning_gym")

LISTED = {one.name: one for one in list_methods() if one.page.claims}


def side(name, baseline=""):
    """The run of one side of a claim; None for "start" and "zero"."""
    other, *words = baseline.split() or [""]
    if other in ("start", "zero"):
        return None
    return trained(other, *words) if other else base_spec(trained(name))


@cache
def trained(name, *words):
    return parse_train(name, words, prog="handaxe train", also={"run": RunOptions})[0]


def noise_of_judges(chosen):
    """(spread, flip, centre, seed) of each noisy judge of a run."""
    made, first = set(), Noisy.__init__

    def seeing(self, judge, *noise):
        made.add(noise)
        first(self, judge, *noise)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Noisy, "__init__", seeing)
        make_method(chosen, make_world(chosen))
    return made


def noise_of_world(chosen):
    return chosen.options["world"].get("noise", 0.0)


def unfair(own, other):
    """The difference in noise of two sides, in words; "" without one.

    A base without judges has no noise of judges; noise on the other side then makes the claim no easier.
    """
    if noise_of_world(own) != noise_of_world(other):
        return f"worlds err by {noise_of_world(own)} and {noise_of_world(other)}"
    errs, others_err = noise_of_judges(own), noise_of_judges(other)
    if others_err and errs != others_err:
        return f"judges err by {errs} and {others_err}"
    return ""


@pytest.mark.parametrize("name", slow_for_papers(sorted(LISTED)))
def test_both_sides_of_a_claim_meet_the_same_noise(name):
    for claim in LISTED[name].page.claims:
        other = side(name, claim.baseline)
        if other is not None and claim.baseline not in own(name, "NOISE_VARIES", {}):
            assert unfair(trained(name), other) == "", claim.text


@pytest.mark.slow
def test_sides_with_different_noise_are_found():
    noisier = side("tp_grpo", "tp_grpo --label-noise 0.4")
    assert "judges" in unfair(trained("tp_grpo"), noisier) and "judges" in unfair(trained("grpo"), noisier)
    assert unfair(trained("tp_grpo"), trained("grpo")) == ""
    for name in methods_with("NOISE_VARIES"):
        for baseline in own(name, "NOISE_VARIES"):
            assert "worlds" in unfair(trained(name), side(name, baseline))
