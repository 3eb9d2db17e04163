"""Dr. BoT, the base of SPEAR (arXiv:2509.22601): Dr. GRPO with dual clip, masks and a selection of varied groups."""

from handaxe import selection
from handaxe.losses import surrogates
from handaxe.methods.method import Method, replace

__all__ = ["dr_bot"]


def dr_bot(
    base: Method, *, eps_high: float = 0.28, cap: float = 10.0, share: float = 0.75, minibatches: int = 4
) -> Method:
    """Mask truncated and repetitive rollouts, and train on the groups with the largest spread of rewards.

    Args:
        eps_high: upper clip of the ratio; 0.28 in the paper.
        cap: bound of the ratio for negative advantages; 10 in the paper.
        share: share of the groups that train; 0.75 in the paper.
        minibatches: optimiser steps a training step.
    """
    overlong = selection.mask_overlong(reasons=("length", "turns", "budget"))
    varied = selection.keep_varied(share=share)
    return replace(
        base,
        surrogate=surrogates.dual_clip(eps_high=eps_high, cap=cap),
        select=selection.pipe(base.select, overlong, selection.mask_repetitive(), varied),
        minibatches=minibatches,
    )
