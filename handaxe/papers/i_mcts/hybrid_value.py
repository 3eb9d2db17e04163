"""Value of a node between an estimate and executed scores, and the priority of its selection."""

from __future__ import annotations

import math
from collections.abc import Callable

from handaxe.core.errors import InputError

__all__ = ["Priority", "hybrid_priority", "hybrid_value", "unit_score"]

Priority = Callable[[float, float, int, int], float]
"""(estimate, sum of backed-up scores, visits of the node, visits of its parent) -> priority."""


def unit_score(score: float, *, low_is_better: bool) -> float:
    """Map a metric to a score; a higher score is better.

        1 / (1 + score)        if low is better; the score itself otherwise

    Args:
        score: a metric; from 0 if low is better.
        low_is_better: the metric is an error.

    Returns:
        A score, 0 to 1 for an error and for a metric from 0 to 1.

    Raises:
        InputError: a negative error.

    Example:
        an error of 0.25 -> 0.8

    Paper: arXiv:2502.14693 (I-MCTS), scores of regressions, as in the released code.
    Differs: nothing.
    """
    if not low_is_better:
        return score
    if not score >= 0:
        raise InputError(f"an error is 0 or more, not {score}")
    return 1 / (1 + score)


def hybrid_value(estimate: float, total: float, visits: int, *, virtual: float = 0.2) -> float:
    """Mix the value model's estimate with executed scores; the weight of the estimate falls with visits.

        w = v / (n + v)        Q = w estimate + (1 - w) total / n        Q = estimate for n = 0

    Args:
        estimate: of the value model, 0 to 1.
        total: sum of the backed-up scores.
        visits: n, number of back-ups.
        virtual: v, weight of the estimate in visits, 0 or more; 0.2 in the released code.

    Returns:
        Q.

    Raises:
        InputError: visits or v below 0.

    Example:
        estimate 0.8: 0.8 without a visit; with a score 0.6: w = 0.2 / 1.2, Q = 0.8 / 6 + 0.6 * 5 / 6 = 0.6333

    Paper: arXiv:2502.14693 (I-MCTS), hybrid reward; w as in the released code.
    Unconfirmed: the schedule of w in the text of the paper.
    Differs: nothing else.
    """
    if visits < 0 or not virtual >= 0:
        raise InputError(f"a hybrid value takes visits and their virtual number from 0, not {visits} and {virtual}")
    if not visits:
        return estimate
    weight = virtual / (visits + virtual)
    return weight * estimate + (1 - weight) * total / visits


def hybrid_priority(*, c: float = 2.0, virtual: float = 0.2, hybrid: bool = True) -> Priority:
    """Make the upper confidence bound of a node.

        Q + c sqrt(ln(N + 1e-6) / max(n, v))        Q: `hybrid_value`, or total / max(n, v) without the estimate

    Args:
        c: weight of the bound, >= 0; 2 in the released code.
        virtual: v, > 0; 0.2 in the released code, and 0.8 in its search without estimates.
        hybrid: use the estimate.

    Returns:
        A Priority; N is 1 or more.

    Raises:
        InputError: c below 0, or v not above 0.

    Example:
        estimate 0.5, n = 0, N = 2: 0.5 + 2 sqrt(ln 2 / 0.2) = 4.2233

    Paper: arXiv:2502.14693 (I-MCTS), selection, as in the released code.
    Differs: nothing.
    """
    if not c >= 0 or not virtual > 0:
        raise InputError(f"a priority takes c from 0 and virtual visits above 0, not {c} and {virtual}")

    def priority(estimate: float, total: float, visits: int, parent: int) -> float:
        counted = visits or virtual
        value = hybrid_value(estimate, total, visits, virtual=virtual) if hybrid else total / counted
        return value + c * math.sqrt(math.log(parent + 1e-6) / counted)

    return priority
