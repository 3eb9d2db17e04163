"""Online selection of tools under a budget, with the threshold rule of online knapsack."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import e, isfinite, log
from typing import NamedTuple

import numpy as np

from handaxe.core.errors import InputError

__all__ = ["Candidate", "ToolSelection", "competitive_bound", "online_knapsack", "ratio_threshold"]


class Candidate(NamedTuple):
    """Tool on offer: its cost above 0, and the numbers of the skills for which retrieval found the tool."""

    cost: float
    skills: tuple[int, ...]


class ToolSelection(NamedTuple):
    """Selected candidates in the order of acceptance, skills with a selected helper, total cost, and probed pairs."""

    chosen: tuple[int, ...]
    covered: frozenset[int]
    spent: float
    probes: int


def ratio_threshold(spent_share: float, *, low: float, high: float) -> float:
    """Compute the least ratio of value to cost that online knapsack accepts.

        Psi(z) = (U e / L)^z L / e

    Args:
        spent_share: z, the spent share of the budget, 0 to 1.
        low: L > 0, the assumed least ratio of a useful tool.
        high: U >= L, the assumed largest ratio.

    Returns:
        The threshold: L / e for an unspent budget, L at z = 1 / (1 + ln(U / L)), U for a spent budget.

    Raises:
        InputError: ratios that are not finite with 0 < L <= U, or a share out of [0, 1].

    Example:
        L = 1, U = 10  ->  0.368 at z = 0, 1 at z = 0.303, 1.918 at z = 0.5, 10 at z = 1

    Paper: arXiv:2510.16499 (Knapsack composer), the online acceptance rule.
    Unconfirmed: the formula is the usual form of Zhou, Chakrabarty and Lukose, which has the paper's competitive ratio
        ln(U / L) + 1; of two summaries of the paper one prints this form, the other one (U / (L e))^z L e.
    """
    if not (0 < low <= high and isfinite(high)):
        raise InputError(f"the ratios are low={low} and high={high}; give finite numbers with 0 < low <= high")
    if not 0 <= spent_share <= 1:
        raise InputError(f"spent_share is {spent_share}; give a share from 0 to 1")
    return float((high * e / low) ** spent_share * low / e)


def competitive_bound(*, low: float, high: float, largest_share: float = 0.0) -> float:
    """Bound the optimum's value, divided by the online value, for items with fixed values.

        OPT / online  <=  (1 + ln(U / L)) (U e / L)^(2 s)

    Args:
        low, high: L and U, true bounds of all ratios of value to cost.
        largest_share: s, the largest cost as a share of the budget, 0 to 1; 0 is the limit of small items.

    Returns:
        The bound, 1 or more.

    Raises:
        InputError: as `ratio_threshold`.

    Example:
        L = 1, U = 10, s = 0  ->  3.303; s = 0.05  ->  3.303 * 27.18^0.1 = 4.595

    Paper: arXiv:2510.16499 (Knapsack composer), competitive ratio ln(U / L) + 1.
    Differs: the factor for costs that are not small is derived here.
    """
    ratio_threshold(largest_share, low=low, high=high)
    return float((1 + log(high / low)) * (high * e / low) ** (2 * largest_share))


def online_knapsack(
    candidates: Sequence[Candidate],
    importance_M: Sequence[float] | np.ndarray,
    *,
    budget: float,
    low: float = 0.0,
    high: float = 0.0,
    helps: Callable[[int, int], bool],
) -> ToolSelection:
    """Accept or reject each candidate once, in order.

        v_i = sum of importance over skills m of candidate i without a helper, with helps(i, m)
        accept i  <=>  v_i > 0, c_i <= remaining budget, and v_i / c_i >= Psi(spent / budget)

    A candidate beyond the remaining budget, or without an open skill, is not probed.

    Args:
        candidates: in the order of their arrival.
        importance_M: of each skill, 0 or more, [M].
        budget: above 0.
        low, high: of `ratio_threshold`; both 0: every helpful candidate that fits is accepted.
        helps: whether candidate i helps with skill m. A probe run executes test queries.

    Returns:
        The selection. Its cost is at most the budget.

    Raises:
        InputError: a budget or cost that is not finite and above 0, a negative importance, a skill without importance,
            or ratios refused by `ratio_threshold`.

    Example:
        L = 1, U = 10, budget 10, of which 5 are spent: v = 3, c = 1 is accepted (3 >= 1.918); v = 3, c = 2 is rejected

    Paper: arXiv:2510.16499 (Knapsack composer), composition by probe runs and online knapsack.
    Differs: importance and probes are arguments; in the paper a language model writes the skills and test queries, and
    judges the results.
    """
    _check(candidates, importance_M, budget)
    thresholds = bool(low or high)
    if thresholds:
        ratio_threshold(0.0, low=low, high=high)
    chosen: list[int] = []
    covered: set[int] = set()
    spent = 0.0
    probes = 0
    for number, candidate in enumerate(candidates):
        open_skills = [skill for skill in candidate.skills if skill not in covered]
        if spent + candidate.cost > budget:
            continue
        probes += len(open_skills)
        helped = [skill for skill in open_skills if helps(number, skill)]
        value = float(sum(importance_M[skill] for skill in helped))
        least = ratio_threshold(min(spent / budget, 1.0), low=low, high=high) if thresholds else 0.0
        if value > 0 and value / candidate.cost >= least:
            chosen.append(number)
            covered |= set(helped)
            spent += candidate.cost
    return ToolSelection(tuple(chosen), frozenset(covered), spent, probes)


def _check(candidates: Sequence[Candidate], importance_M: Sequence[float] | np.ndarray, budget: float) -> None:
    if not (budget > 0 and isfinite(budget)):
        raise InputError(f"the budget is {budget}; give a finite number above 0")
    if not all(one >= 0 and isfinite(one) for one in importance_M):
        raise InputError("a skill's importance is negative or not finite; give numbers of 0 or more")
    for number, one in enumerate(candidates):
        if not (one.cost > 0 and isfinite(one.cost)):
            raise InputError(f"candidate {number} costs {one.cost}; give a finite number above 0")
        if not all(0 <= skill < len(importance_M) for skill in one.skills):
            raise InputError(f"candidate {number} has a skill out of 0 to {len(importance_M) - 1}: {one.skills}")
