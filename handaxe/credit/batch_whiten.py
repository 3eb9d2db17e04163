"""Whiten advantages over all trained tokens of a batch."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from handaxe.ops.ragged import gather, scatter
from handaxe.ops.returns import Std, whiten
from handaxe.records import Advantages, Rated
from handaxe.slots import Selector

__all__ = ["batch_whiten"]


def batch_whiten(*, centre: bool = True, std: Std = "sample", eps: float = 1e-8) -> Selector:
    """Bring the advantages of a whole batch to mean 0 and variance 1, token by token.

        A' = (A - mean(A)) / sqrt(var(A) + eps)

    Mean and var are over the policy's tokens of every trained trajectory in the batch; a long trajectory weighs more.
    Trajectories that do not train are neither counted nor changed, and value targets (`returns`) stay as they are.

    Args:
        centre: False puts the mean back, so that only the scale changes.
        std: whether var divides by n - 1 ("sample") or n ("population").
        eps: added to the variance, in squared units of reward; 1e-8 in released code.

    Returns:
        A selector: [Rated] -> [Rated], the same groups in the same order. Fewer than two tokens, or advantages equal
        up to rounding, come out as 0 (or unchanged where `centre` is False).

    Example:
        three one-token trajectories with advantages 1, 1, 0  ->  0.57735, 0.57735, -1.15470

    Paper: arXiv:2501.03262 (REINFORCE++), section 3; also usual after `gae`. Differs: nothing.
    """

    def select(rated: Sequence[Rated]) -> list[Rated]:
        flat = [
            gather(trajectory, one.advantages.tokens[i])
            for one in rated
            for i, trajectory in enumerate(one.group)
            if one.trained[i]
        ]
        white = whiten(np.concatenate([np.zeros(0), *flat]), centre=centre, std=std, eps=eps)
        pieces = iter(np.split(white, np.cumsum([len(part) for part in flat], dtype=int)))
        out = []
        for one in rated:
            tokens = tuple(
                scatter(trajectory, next(pieces)) if one.trained[i] else one.advantages.tokens[i]
                for i, trajectory in enumerate(one.group)
            )
            out.append(replace(one, advantages=Advantages(tokens, one.advantages.returns)))
        return out

    return select
