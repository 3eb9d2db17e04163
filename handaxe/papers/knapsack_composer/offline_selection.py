"""Offline selections of tools under a budget: the optimum with known helpers, and a knapsack of retrieval scores."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

import numpy as np
import scipy  # scipy.optimize takes a while: imported on use

from handaxe.core.errors import InputError

__all__ = ["cover_optimum", "score_knapsack"]

MOST_SKILLS = 16
"""The dynamic programme has a state for each set of skills."""


def cover_optimum(
    helps_IM: np.ndarray, cost_I: np.ndarray, importance_M: np.ndarray, *, budget: float
) -> tuple[int, ...]:
    """Select the tools that cover the most important skills within a budget, by an exact dynamic programme.

        least[S]  =  least cost of tools that help with all skills of S;  the largest importance of S with least[S] <= B

    Args:
        helps_IM: whether tool i helps with skill m, [I, M] bool, with at most 16 skills.
        cost_I: of each tool, above 0, [I].
        importance_M: of each skill, 0 or more, [M].
        budget: B >= 0.

    Returns:
        Numbers of the tools, ascending; of several optima a cheapest.

    Raises:
        InputError: shapes that do not fit, more than 16 skills, a cost that is not above 0, or a negative budget.

    Example:
        tool 0 of cost 3 helps with both skills, tools 1 and 2 of cost 1 with one each; budget 2  ->  (1, 2)

    Paper: arXiv:2510.16499 (Knapsack composer), the offline problem.
    Differs: exact by a dynamic programme over sets of skills.
    """
    tools, skills = _shape(helps_IM, cost_I, budget)
    if skills != len(importance_M) or skills > MOST_SKILLS:
        raise InputError(
            f"{skills} skills have {len(importance_M)} importances; give equal counts of {MOST_SKILLS} or fewer"
        )
    best: dict[frozenset[int], tuple[float, tuple[int, ...]]] = {frozenset(): (0.0, ())}
    for tool in range(tools):
        own = frozenset(np.flatnonzero(helps_IM[tool]).tolist())
        for covered, (spent, chosen) in list(best.items()):
            total = spent + float(cost_I[tool])
            if total <= budget and total < best.get(covered | own, (np.inf,))[0]:
                best[covered | own] = (total, (*chosen, tool))
    value = {covered: float(sum(importance_M[one] for one in covered)) for covered in best}
    return best[max(best, key=lambda covered: (value[covered], -best[covered][0]))][1]


def score_knapsack(score_IM: np.ndarray, cost_I: np.ndarray, *, budget: float) -> tuple[int, ...]:
    """Select at most one tool a skill, with the largest total score within a budget, by integer programming.

        max sum_im s_im x_im   with  x in {0, 1},  sum_i x_im <= 1 for each m,  x_im <= y_i,  sum_i c_i y_i <= B

    Args:
        score_IM: retrieval score of tool i for skill m, 0 where retrieval did not find the tool, [I, M].
        cost_I: of each tool, above 0, [I].
        budget: B >= 0.

    Returns:
        Numbers of the tools, ascending.

    Raises:
        InputError: shapes that do not fit, a cost that is not above 0, or a negative budget.

    Example:
        scores 1.0 and 0.5 for the only skill, costs 3 and 1, budget 2  ->  (1,)

    Paper: arXiv:2510.16499 (Knapsack composer), the offline baseline with similarity as value.
    Differs: a value of a tool in the paper is the sum of its similarities to all skills, and every skill needs a tool.
    Unconfirmed: the exact constraints; the paper names a multiple-choice knapsack.
    """
    tools, skills = _shape(score_IM, cost_I, budget)
    pairs = [(tool, skill) for tool in range(tools) for skill in range(skills) if score_IM[tool, skill] > 0]
    if not pairs:
        return ()
    score_V = np.concatenate([[score_IM[pair] for pair in pairs], np.zeros(tools)])
    rows_RV = np.zeros((skills + len(pairs) + 1, len(score_V)))
    limit_R = np.concatenate([np.ones(skills), np.zeros(len(pairs)), [budget]])
    for column, (tool, skill) in enumerate(pairs):
        rows_RV[skill, column] = 1
        rows_RV[skills + column, column] = 1
        rows_RV[skills + column, len(pairs) + tool] = -1
    rows_RV[-1, len(pairs) :] = cost_I
    found = scipy.optimize.milp(
        -score_V,
        constraints=scipy.optimize.LinearConstraint(rows_RV, -np.inf, limit_R),
        integrality=np.ones(len(score_V)),
        bounds=scipy.optimize.Bounds(0, 1),
    )
    taken_P = np.round(found.x[: len(pairs)]).astype(bool)
    return tuple(sorted({tool for (tool, _), taken in zip(pairs, taken_P) if taken}))


def _shape(table_IM: np.ndarray, cost_I: Sequence[float] | np.ndarray, budget: float) -> tuple[int, int]:
    if not (budget >= 0 and isfinite(budget)):
        raise InputError(f"the budget is {budget}; give a finite number of 0 or more")
    if np.ndim(table_IM) != 2 or len(table_IM) != len(cost_I):
        raise InputError(f"a table of shape {np.shape(table_IM)} has {len(cost_I)} costs; give [I, M] and [I]")
    if not np.all(np.asarray(cost_I) > 0):
        raise InputError("a tool's cost is not above 0; give costs above 0")
    return np.shape(table_IM)[0], np.shape(table_IM)[1]
