"""Adds rewards in order, each only if all earlier rewards were earned.

Idea: a later reward cannot compensate an earlier one, so a wrong or malformed rollout earns nothing by few calls.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Reward
from handaxe.core.records import Group, Scores
from handaxe.rewards.parts.checks import outcome_only
from handaxe.rewards.parts.combined import Combined

__all__ = ["Rung", "ladder"]


class Rung(NamedTuple):
    """A step of a ladder.

    name    channel of the reward
    reward  of the step
    weight  of the reward
    above   the next rung counts if the reward is strictly above this
    failed  total reward of a rollout that stops here; None: the sum up to here
    """

    name: str
    reward: Reward
    weight: float = 1.0
    above: float = 0.0
    failed: float | None = None


def ladder(rungs: Sequence[Rung]) -> Reward:
    """Add rewards in order, and stop at the first unearned reward.

        earned_ij  = r_ij > above_j
        R_i        = sum_k w_k r_ik prod_{j<k} [earned_ij]          r_ik: outcome of rung k
        R_i        = failed_c  instead, if the first unearned rung c sets it

    The reward of an unearned rung (0, or less) still counts. `above` of the last rung only decides about its `failed`.

    Args:
        rungs: one or more, with different names.

    Returns:
        A reward with outcome [G] and a channel for each rung: unweighted, over all siblings, counted or not.

    Raises:
        InputError: no rung, two with one name, a number that is not finite, or a reward with per-turn values (wrap it
            in `turns_to_outcome`).

    Example:
        format, with weight 0 and failed -1; then answer; then used, with weight 0.1:
        format (0, 1, 1, 1), answer (1, 0, 0.5, 1), used (1, 1, 0, 1)  ->  -1, 0, 0.5, 1.1

    Paper: arXiv:2508.10548 (G-RA) for two rungs, an outcome and the sum of step rewards.
    Differs: any number of rungs, and a fixed reward of failed rungs.
    """
    if len({rung.name for rung in rungs}) < len(rungs):
        raise InputError(f"rungs are named {[rung.name for rung in rungs]}; give each its own name")
    for rung in rungs:
        if not np.isfinite([rung.weight, rung.above, rung.failed or 0.0]).all():
            raise InputError(f"rung {rung.name!r} has a number that is not finite: {rung[2:]}")

    def merge(group: Group, parts: dict[str, Scores]) -> Scores:
        value, climbs = np.zeros(len(group)), np.ones(len(group), dtype=bool)
        for rung in rungs:
            worth = outcome_only(parts[rung.name], rung.name).outcome
            value = np.where(climbs, value + rung.weight * worth, value)
            stops = climbs & ~(worth > rung.above)
            value = value if rung.failed is None else np.where(stops, rung.failed, value)
            climbs = climbs & ~stops
        return Scores(value)

    return Combined({rung.name: rung.reward for rung in rungs}, merge)
