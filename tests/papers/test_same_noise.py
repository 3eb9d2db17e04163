"""A mechanism must not win because its side of a claim meets less noise: what errs, errs alike on both sides."""

from functools import cache

import pytest

from handaxe.commands.configure import parse_train
from handaxe.commands.train import RunOptions
from handaxe.judges.noisy import Noisy
from handaxe.methods.build import make_method, make_world
from handaxe.methods.catalog import list_methods
from handaxe.methods.run_spec import spec_of_base

pytest.importorskip("reasoning_gym")

LISTED = {one.name: one for one in list_methods() if one.page.claims}
VARIED = {
    ("confidence_dichotomy", "confidence_dichotomy --world.noise 0"): "how far a tool errs is what the paper varies"
}
"""Claims about noise itself."""


def side(name, baseline=""):
    """What is trained on one side of a claim; None where the other side is no run of its own."""
    other, *words = baseline.split() or [""]
    if other in ("start", "zero"):
        return None
    return trained(other, *words) if other else spec_of_base(trained(name))


@cache
def trained(name, *words):
    return parse_train(name, words, prog="handaxe train", also={"run": RunOptions})[0]


def noise_of_judges(chosen):
    """(spread, flip, seed) of each noisy judge that is made for a run."""
    made, first = set(), Noisy.__init__

    def seeing(self, judge, spread, flip, seed):
        made.add((spread, flip, seed))
        first(self, judge, spread, flip, seed)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Noisy, "__init__", seeing)
        make_method(chosen, make_world(chosen))
    return made


def noise_of_world(chosen):
    return chosen.options["world"].get("noise", 0.0)


def unfair(own, other):
    """What is wrong with the noise of two sides; "" where nothing is.

    A base without judges has no noise of judges; then the claim's own side may have some, which makes it no easier.
    """
    if noise_of_world(own) != noise_of_world(other):
        return f"worlds err by {noise_of_world(own)} and {noise_of_world(other)}"
    errs, others_err = noise_of_judges(own), noise_of_judges(other)
    if others_err and errs != others_err:
        return f"judges err by {errs} and {others_err}"
    return ""


@pytest.mark.parametrize("name", sorted(LISTED))
def test_both_sides_of_a_claim_meet_the_same_noise(name):
    for claim in LISTED[name].page.claims:
        other = side(name, claim.baseline)
        if other is not None and (name, claim.baseline) not in VARIED:
            assert unfair(trained(name), other) == "", claim.text


def test_sides_with_different_noise_are_found():
    """The check itself: of judges, of worlds, and of a side that alone is spared."""
    noisier = side("tp_grpo", "tp_grpo --wrong 0.4")
    assert "judges" in unfair(trained("tp_grpo"), noisier) and "judges" in unfair(trained("grpo"), noisier)
    assert unfair(trained("tp_grpo"), trained("grpo")) == ""
    for name, baseline in VARIED:
        assert "worlds" in unfair(trained(name), side(name, baseline))
