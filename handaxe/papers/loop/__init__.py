"""LOOP: PPO without a critic, on the leave-one-out baseline, with a second use of every attempt."""

from handaxe.losses.parts.disagreement import Unit
from handaxe.losses.ratios.by_unit import by_unit
from handaxe.losses.reductions.rollout_mean import rollout_mean
from handaxe.methods.method import Method, replace
from handaxe.papers.loop.log_clip import log_clip
from handaxe.selection.drop_small_advantages import drop_small_advantages
from handaxe.selection.pipe import pipe
from handaxe.training.loop.early_stop import above

__all__ = ["loop"]


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
