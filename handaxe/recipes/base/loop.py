"""LOOP: PPO without a critic, on the leave-one-out baseline, with a second use of every attempt."""

from handaxe.losses.parts.disagreement import Unit
from handaxe.losses.ratios.by_unit import by_unit
from handaxe.losses.reductions.rollout_mean import rollout_mean
from handaxe.losses.surrogates.log_clip import log_clip
from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, replace
from handaxe.recipes.base.rloo import rloo
from handaxe.selection.drop_small_advantages import drop_small_advantages
from handaxe.selection.pipe import pipe
from handaxe.training.enough import above
from handaxe.worlds.hops import hops

__all__ = ["loop"]

TITLE = "Reinforcement Learning for Long-Horizon Interactive LLM Agents"
WHOLE = "More is right at the end than with one ratio for a whole attempt."
SOONER = "As much is right after fewer calls than with RLOO, which uses an attempt once."
RECIPE = Recipe(
    paper=Paper(TITLE, "LOOP", "2502.01600", 170),
    claims=(
        Claim(WHOLE, "pass@1", "up", baseline="loop --unit rollout"),
        Claim(SOONER, "pass@1", "down", over="first", level=0.5, axis="calls"),
    ),
    base=rloo,
    world=hops,
    setting=Setting(model="start", max_turns=6, group_size=6, eval_every=5),
)


def loop(
    base: Method,
    *,
    unit: Unit = "token",
    eps: float = 0.1,
    epochs: int = 2,
    minibatches: int = 3,
    kl_bound: float = 20.0,
) -> Method:
    """Train with ratios clipped evenly in the logarithm, on attempts that did better or worse than the others.

    Differs: an attempt is not cut off when 90 % of a step's are over; hops, where one answer counts, and not
    AppWorld, where rewards are cut off at 0.

    Args:
        unit: what a ratio is of: token (the paper's best), turn or rollout.
        eps: a ratio is clipped at 1 + eps and 1 / (1 + eps).
        epochs: passes over a step's attempts.
        minibatches: optimiser steps a pass.
        kl_bound: divergence from the policy that sampled at which a training step ends.
    """
    select = pipe(base.select, drop_small_advantages(least=0.01))
    passes = replace(base, epochs=epochs, minibatches=minibatches, enough=above("loss/approx_kl", kl_bound))
    return replace(
        passes, ratio=by_unit(unit=unit), surrogate=log_clip(eps=eps), reduction=rollout_mean(), select=select
    )
