"""LOOP (arXiv:2502.01600): PPO without a critic, on leave-one-out advantages, with reuse of every rollout."""

from handaxe import losses, selection
from handaxe.losses.parts.mismatch import Unit
from handaxe.methods.method import Method, replace
from handaxe.papers.loop.log_clip import log_clip
from handaxe.training.loop.early_stop import stop_above

__all__ = ["loop"]


def loop(base: Method, *, unit: Unit = "token", eps: float = 0.1, epochs: int = 2, minibatches: int = 3) -> Method:
    """Clip ratios symmetrically in the logarithm, on rollouts with an advantage of at least 0.01.

    Args:
        unit: unit of the importance ratio: "token", the paper's best, "turn" or "rollout".
        eps: clip bounds 1 + eps and 1 / (1 + eps); 0.1 in the paper.
        epochs: passes over the rollouts of a step; 2 in the paper.
        minibatches: optimizer steps a pass.
    """
    return replace(
        base,
        ratio=losses.ratios.unit_ratio(unit=unit),
        surrogate=log_clip(eps=eps),
        reduction=losses.reductions.rollout_mean(),
        select=selection.pipe(base.select, selection.drop_small_advantages(least=0.01)),
        epochs=epochs,
        minibatches=minibatches,
        early_stop=stop_above("loss/approx_kl", 20.0),
    )
