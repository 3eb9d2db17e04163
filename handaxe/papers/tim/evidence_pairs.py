"""Preference pairs: a tool result as evidence for stated steps, against a tool result as substitute for steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Pairs
from handaxe.core.records import Pair, RatedGroup, Trajectory
from handaxe.papers.tim.explained_sums import gold_lines, stated_lines

__all__ = ["evidence_pairs", "stated_share"]


def stated_share(one: Trajectory) -> float:
    """Share of the lines of the sum that the texts state: 1 - miss rate.

    Example:
        2 of 4 lines stated  ->  0.5
    """
    gold = gold_lines(one.task)
    return len(set(gold) & set(stated_lines(one))) / len(gold)


def evidence_pairs(*, gap: float = 0.5, stated: Callable[[Trajectory], float] = stated_share) -> Pairs:
    """Make one pair of each group: among correct rollouts with a successful call, most against fewest stated steps.

        C = {i : R_i > 0.5, some reply of i is "ok"}
        (argmax_C stated_i, argmin_C stated_i)   if  max_C stated - min_C stated >= gap,   strength max - min

    Both sides are correct and use the tool: the pair prefers stated reasoning, and neither accuracy nor a tool. Ties
    go to the lower `sample`.

    Args:
        gap: least difference, in shares of steps, above 0.
        stated: share of the required steps that a rollout states, 0 to 1.

    Returns:
        Pairs: [RatedGroup] -> [Pair], at most one a group, in their order.

    Raises:
        InputError: a gap outside (0, 1].

    Example:
        correct with a call, stated 1, 0.5 and 0; incorrect 0  ->  (1st, 3rd) of strength 1

    Paper: arXiv:2511.10899 (TIM), preference optimization for tool results as assisting evidence.
    Unconfirmed: the number of pairs of a problem.
    Differs: a count of stated steps decides between evidence and substitute.
    """
    if not 0 < gap <= 1:
        raise InputError(f"evidence_pairs takes a gap above 0 up to 1, not {gap}")

    def pairs(rated: Sequence[RatedGroup]) -> list[Pair]:
        return [pair for one in rated if (pair := _pair(one)) is not None]

    def _pair(one: RatedGroup) -> Pair | None:
        correct_G = np.nan_to_num(one.scores.outcome) > 0.5
        able = [own for own, correct in zip(one.group, correct_G, strict=True) if correct and _called(own)]
        if not able:
            return None
        able.sort(key=lambda own: (own.sample, own.id))
        best = max(able, key=stated)
        worst = min(able, key=stated)
        strength = stated(best) - stated(worst)
        return Pair(best, worst, strength) if strength >= gap else None

    return pairs


def _called(one: Trajectory) -> bool:
    return any(reply.status == "ok" for reply in one.replies)
