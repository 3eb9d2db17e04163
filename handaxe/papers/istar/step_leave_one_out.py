"""Leave-one-out credit over the turns of a group."""

from typing import Literal

import numpy as np

from handaxe.core.protocols import Credit
from handaxe.core.records import Advantages, Group, Scores
from handaxe.ops.ragged import group_rewards, scatter, statistics_mask, token_turn_indices, turn_channel
from handaxe.ops.returns import standard_deviation, standardise

__all__ = ["step_leave_one_out"]


def step_leave_one_out(
    *, channel: str | None = None, released: bool = False, stats_over: Literal["all", "eligible"] = "all"
) -> Credit:
    """Subtract from each turn's reward the mean reward of all other turns of the group.

        A_ik = r_ik - 1/(n-1) sum_{(j,l) != (i,k)} r_jl = n/(n-1) (r_ik - mean(r))      over all n turns of all siblings
        A_i,t = A_ik for sampled tokens t of turn k; 0 for all others

    There is no sum over later turns, and the outcome does not enter: add it with `credit.total`.

    Args:
        channel: read r from this one of `Scores.turn_channels` instead of `turns`.
        released: as the released code does: the mean is over the first turn of each sibling, and n is the number of
            siblings with a turn: A_ik = G/(G-1) (r_ik - mean_j r_j1).
        stats_over: "all" scored siblings, or those in `Scores.eligible`; the others get 0.

    Returns:
        A credit: (Group, Scores) -> Advantages, [T] for each sequence. Rewards equal up to rounding give exactly 0, and
        so does a single turn; an unscored sibling (outcome NaN) gets 0, and its turns are not counted.

    Raises:
        InputError: an unknown channel or `stats_over`, and scores that do not fit the group or are infinite.

    Example:
        turns (0.2, 0.1) and (-0.1, 0)  ->  0.2, 0.0667 and -0.2, -0.0667
        released: mean of 0.2 and -0.1, times 2  ->  0.3, 0.1 and -0.3, -0.1

    Paper: arXiv:2509.19199 (iStar), A^S.
    Differs: nothing; `released` is the released code's form.
    """

    def credit(group: Group, scores: Scores) -> Advantages:
        values = turn_channel(group, scores, channel)
        counted_G = statistics_mask(group, scores, group_rewards(group, scores), stats_over)
        sizes = [len(own) for own in values]
        flat = np.concatenate([np.zeros(0), *values])
        counted_N = np.repeat(counted_G, sizes)
        if released:
            firsts = np.array([own[0] for own, kept in zip(values, counted_G, strict=True) if kept and len(own)])
            flat = _from_firsts(flat, counted_N, firsts)
        else:
            size = int(counted_N.sum())
            flat = standardise(flat, counted_N, std=None) * (size / (size - 1) if size > 1 else 1.0)
        split = np.split(flat, np.cumsum(sizes)[:-1]) if sizes else []
        return Advantages(
            tuple(scatter(one, own[token_turn_indices(one)]) for one, own in zip(group, split, strict=True))
        )

    return credit


def _from_firsts(flat: np.ndarray, counted_N: np.ndarray, firsts: np.ndarray) -> np.ndarray:
    size = len(firsts)
    if size < 2 or not standard_deviation(flat[counted_N]):
        return np.zeros(len(flat))
    return np.where(counted_N, size / (size - 1) * (flat - firsts.mean()), 0.0)
