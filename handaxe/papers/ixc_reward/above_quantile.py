"""Drops the training data with the lowest scores of a judge."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Judge, Selector
from handaxe.core.records import RatedGroup
from handaxe.selection.parts.dispositions import mask

__all__ = ["above_quantile"]


def above_quantile(*, judge: Judge, quantile: float = 0.25) -> Selector:
    """Train on the rollouts above a quantile of the judge's scores, over all groups.

        trained_i = trained_i and s_i > q,    q the floor(quantile * N)-th lowest of N scores, -inf for 0

    Args:
        judge: such as a reward model.
        quantile: share of rollouts that are dropped, 0 to below 1; more with equal scores.

    Returns:
        A selector: [RatedGroup] -> the groups, with masked rollouts.

    Raises:
        InputError: a share out of range.

    Example:
        scores -1, 0.2, 0.5, 1.1 and quantile 0.25: the first is dropped

    Paper: IXC-2.5-Reward, data cleaning by low scores.
    Unconfirmed: the share; the paper reads samples of low scores.
    Differs: a fixed share is dropped, without people who read the samples.
    """
    if not 0 <= quantile < 1:
        raise InputError(f"quantile is {quantile}; give a share from 0 to below 1")

    def select(rated: Sequence[RatedGroup]) -> list[RatedGroup]:
        scores = [np.asarray(judge.score(one.group), np.float64) for one in rated]
        score_N = np.sort(np.concatenate([np.zeros(0), *scores]))
        dropped = int(quantile * len(score_N))
        least = score_N[dropped - 1] if dropped else -np.inf
        return [mask(one, score_G > least, by="above_quantile") for one, score_G in zip(rated, scores, strict=True)]

    return select
