"""Leave-one-out credit of steps: every other step of the group is the baseline."""

from typing import Literal

import numpy as np

from handaxe.core.protocols import Credit
from handaxe.core.records import Advantages, Group, Scores
from handaxe.ops.ragged import counted, rewards_of, scatter, turn_channel, turn_of_token
from handaxe.ops.returns import deviation, standardise

__all__ = ["step_leave_one_out"]


def step_leave_one_out(
    *, channel: str | None = None, released: bool = False, stats_over: Literal["all", "eligible"] = "all"
) -> Credit:
    """Give every token of a turn the turn's own reward minus the mean reward of the group's other turns.

        A_ik = r_ik - 1/(n-1) sum_{(j,l) != (i,k)} r_jl = n/(n-1) (r_ik - mean(r))      over all n turns of all siblings
        A_i,t = A_ik for sampled tokens t of turn k; 0 for all others

    Nothing is summed over later turns, and the outcome does not enter: add it by `credit.total`.

    Args:
        channel: take this one of `Scores.turn_channels` for r instead of `turns`.
        released: as the released code does, whose mean is over the first turn of each sibling alone, and whose n is
            the number of siblings that have a turn: A_ik = G/(G-1) (r_ik - mean_j r_j1).
        stats_over: "all" siblings that were scored, or those that `Scores.eligible` names; the others then get 0.

    Returns:
        A credit: (Group, Scores) -> Advantages, [T] for each sequence. Rewards equal up to rounding give exactly 0, and
        so does a turn alone; an unscored sibling (outcome NaN) gets 0 and its turns count nowhere.

    Raises:
        InputError: an unknown channel or `stats_over`, and scores that do not fit the group or are infinite.

    Example:
        turns (0.2, 0.1) and (-0.1, 0)  ->  0.2, 0.0667 and -0.2, -0.0667
        released: mean of 0.2 and -0.1, times 2  ->  0.3, 0.1 and -0.3, -0.1

    Paper: arXiv:2509.19199 (iStar), A^S.
    Differs: nothing; `released` is what the released code does.
    """

    def credit(group: Group, scores: Scores) -> Advantages:
        values = turn_channel(group, scores, channel)
        counted_G = counted(group, scores, rewards_of(group, scores), stats_over)
        sizes = [len(own) for own in values]
        flat = np.concatenate([np.zeros(0), *values])
        there = np.repeat(counted_G, sizes)
        if released:
            firsts = np.array([own[0] for own, kept in zip(values, counted_G, strict=True) if kept and len(own)])
            flat = _from_firsts(flat, there, firsts)
        else:
            size = int(there.sum())
            flat = standardise(flat, there, std=None) * (size / (size - 1) if size > 1 else 1.0)
        split = np.split(flat, np.cumsum(sizes)[:-1]) if sizes else []
        return Advantages(tuple(scatter(one, own[turn_of_token(one)]) for one, own in zip(group, split, strict=True)))

    return credit


def _from_firsts(flat: np.ndarray, there: np.ndarray, firsts: np.ndarray) -> np.ndarray:
    size = len(firsts)
    if size < 2 or not deviation(flat[there]):
        return np.zeros(len(flat))
    return np.where(there, size / (size - 1) * (flat - firsts.mean()), 0.0)
