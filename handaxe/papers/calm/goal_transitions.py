"""Turns that reach criteria, and the F1 of verdicts on these turns.

    reached_cn = criterion c is met after turn n and was not before it
    f1 = 2 TP / (2 TP + FP + FN), 0 without a true positive         constant = 2 P / (P + K), the f1 of a constant yes

over the K pairs of turn and criterion with P positives; a constant no has f1 0. `ranked` is the probability that a
positive pair has a higher p than a negative one, ties one half: 0.5 for an uninformative p.

Example:
    true 1, 0, 0, 1 and p 0.9, 0.8, 0.1, 0.4  ->  f1 = 2 / (2 + 1 + 1) = 0.5, constant = 4 / 6, ranked = 3 / 4

Paper: arXiv:2409.12798 (CALM), its classification of transitions.
Unconfirmed: the pairs of turn and criterion; the abstract alone was read.
Differs: the formulas of the figures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import nan
from typing import NamedTuple

import numpy as np
from scipy import stats

from handaxe.core.errors import InputError
from handaxe.core.protocols import Check
from handaxe.core.records import Criterion, Task, Trajectory
from handaxe.ops.criteria import criteria_progress

__all__ = ["Criteria", "GoalTransition", "f1_figures", "goal_transitions"]

Criteria = Callable[[Task], Sequence[Criterion]]


class GoalTransition(NamedTuple):
    """A turn, a criterion, and True if the turn reached the criterion."""

    attempt: Trajectory
    turn: int
    reached: bool
    criterion: Criterion


def goal_transitions(trajectories: Iterable[Trajectory], *, criteria: Criteria, check: Check) -> list[GoalTransition]:
    """List every turn with every criterion of its task, turn by turn.

    Raises:
        InputError, TaskError: as `ops.criteria.criteria_progress`.
    """
    found = list[GoalTransition]()
    for one in trajectories:
        listed = list(criteria(one.task))
        new_CN = np.diff(criteria_progress(check, one, listed).met_CN, axis=1, prepend=False)
        turns = range(len(one.turns))
        found += [GoalTransition(one, n, bool(new_CN[c, n]), listed[c]) for n in turns for c in range(len(listed))]
    return found


def f1_figures(true_K: np.ndarray, p_K: np.ndarray, threshold: float = 0.5) -> dict[str, float]:
    """Compute the agreement of verdicts with the truth.

    Args:
        true_K: bool, K >= 1.
        p_K: stated probability of each pair; above the threshold is a yes.
        threshold: of p.

    Returns:
        f1, constant, difference (f1 - constant), accuracy, ranked (NaN if all pairs are positive or all negative), said
        (share of yes), true (share of positives) and pairs (their number).

    Raises:
        InputError: no pair.
    """
    if not len(true_K):
        raise InputError("there is no pair of turn and criterion; give rollouts with turns, of tasks with criteria")
    verdict_K = p_K > threshold
    count, positive = len(true_K), int(true_K.sum())
    f1 = 2 * (verdict_K & true_K).sum() / max(1, verdict_K.sum() + positive)
    constant = 2 * positive / (positive + count)
    ranked = nan
    if 0 < positive < count:
        ranked = stats.mannwhitneyu(p_K[true_K], p_K[~true_K]).statistic / (positive * (count - positive))
    figures = {"f1": f1, "constant": constant, "difference": f1 - constant, "accuracy": (verdict_K == true_K).mean()}
    figures |= {"ranked": ranked, "said": verdict_K.mean(), "true": positive / count, "pairs": count}
    return {name: float(value) for name, value in figures.items()}
