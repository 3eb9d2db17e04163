"""Whiten advantages over all trained tokens of a batch."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from handaxe.ops.ragged import gather, scatter
from handaxe.ops.returns import Std, whiten
from handaxe.records import Rated
from handaxe.slots import Shape

__all__ = ["batch_whiten"]


def batch_whiten(*, centre: bool = True, std: Std = "sample", eps: float = 1e-8) -> Shape:
    """Bring the advantages of a whole batch to mean 0 and variance 1, token by token.

        A' = (A - mean(A)) / sqrt(var(A) + eps)

    Mean and var are over the tokens that train (`trained`, `trains`) in the whole batch; a long trajectory weighs more.
    Those that do not train are neither counted nor changed, and value targets (`returns`) stay as they are.

    Args:
        centre: False puts the mean back, so that only the scale changes.
        std: whether var divides by n - 1 ("sample") or n ("population").
        eps: added to the variance, in squared units of reward; 1e-8 in released code.

    Returns:
        A shape: [Rated] -> [Rated], the same groups in the same order. Fewer than two tokens, or advantages equal
        up to rounding, come out as 0 (or unchanged where `centre` is False).

    Example:
        three one-token trajectories with advantages 1, 1, 0  ->  0.57735, 0.57735, -1.15470

    Paper: arXiv:2501.03262 (REINFORCE++), section 3; also usual after `gae`. Differs: nothing.
    """

    def shape(rated: Sequence[Rated]) -> list[Rated]:
        counted = [[_counted(one, i) for i in range(len(one.group))] for one in rated]
        flat = [
            gather(trajectory, one.advantages.tokens[i])[kept_GP[i]]
            for one, kept_GP in zip(rated, counted)
            for i, trajectory in enumerate(one.group)
        ]
        white = whiten(np.concatenate([np.zeros(0), *flat]), centre=centre, std=std, eps=eps)
        pieces = iter(np.split(white, np.cumsum([len(part) for part in flat], dtype=int)))
        out = []
        for one, kept_GP in zip(rated, counted):
            tokens = []
            for i, trajectory in enumerate(one.group):
                adv_P = gather(trajectory, one.advantages.tokens[i])
                adv_P[kept_GP[i]] = next(pieces)
                tokens.append(scatter(trajectory, adv_P))
            out.append(replace(one, advantages=replace(one.advantages, tokens=tuple(tokens))))
        return out

    return shape


def _counted(one: Rated, i: int) -> np.ndarray:
    """[P] bool: which of the tokens of sibling `i` train."""
    trains = one.advantages.trains
    if trains is None or not one.trained[i]:
        return np.full(one.group[i].num_tokens, bool(one.trained[i]))
    return gather(one.group[i], trains[i]) > 0
