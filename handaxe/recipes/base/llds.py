"""LLDS: what was good must not become less likely while its neighbours train."""

from handaxe.losses.terms.keep_likelihood import keep_likelihood
from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, replace
from handaxe.recipes.base.grpo import grpo
from handaxe.worlds.hops import hops

__all__ = ["llds"]

TITLE = "On GRPO Collapse in Search-R1: The Lazy Likelihood-Displacement Death Spiral"
DROP = "What was no worse than others loses less of its likelihood within a step."
END = "GRPO at a high learning rate collapses; with the term it does not."
BARE = "llds --coefficient 0"
LOW = "The baseline ends low, but above its start: it rises, falls back and does not collapse (see the plot)."
RECIPE = Recipe(
    paper=Paper(TITLE, "LLDS", "2512.04220", 53),
    claims=(
        Claim(DROP, "training/loss/likelihood_drop", "down", baseline=BARE, over="worst", vice=0.01),
        Claim(END, "pass@1", "up", baseline=BARE, vice=0.3, note=LOW),
    ),
    base=grpo,
    world=hops,
    setting=Setting(model="start", max_turns=6, steps=30, groups=6, learning_rate=7e-4),
)


def llds(base: Method, *, coefficient: float = 0.2, minibatches: int = 4) -> Method:
    """Add a penalty on turns that become less likely though they were no worse than others.

    Args:
        coefficient: lambda; 0.2 in the paper, 0 reports what the penalty would be.
        minibatches: optimiser steps a training step; the penalty is 0 in the first.
    """
    kept = keep_likelihood(coefficient=coefficient, gate="turn")
    return replace(base, terms=(*base.terms, kept), minibatches=minibatches)
