"""In which turn of an attempt each criterion is reached, and how well one who says so agrees with what is so.

    reached_cn = criterion c is met after turn n and was not before it
    f1 = 2 TP / (2 TP + FP + FN), 0 where nothing true was said    constant = 2 P / (P + K), the f1 of saying always yes

over the K pairs of a turn and a criterion, P of which are true; saying always no has the f1 0. `ranked` is the chance
that a true pair has a higher p than one that is not, ties one half: 0.5 where p tells nothing.

Example:
    true 1, 0, 0, 1 and p 0.9, 0.8, 0.1, 0.4  ->  f1 = 2 / (2 + 1 + 1) = 0.5, constant = 4 / 6, ranked = 3 / 4
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from math import nan
from typing import NamedTuple

import numpy as np
from scipy import stats

from handaxe.core.errors import InputError
from handaxe.core.protocols import Check
from handaxe.core.records import Criterion, Task, Trajectory
from handaxe.ops.checklists import marks_of
from handaxe.ops.seeds import derive_seed

__all__ = ["Criteria", "Reach", "drawn_reaches", "f1_figures", "reaches_of"]

Criteria = Callable[[Task], Sequence[Criterion]]


class Reach(NamedTuple):
    """One turn of an attempt and one criterion, and whether the criterion was reached in this turn."""

    attempt: Trajectory
    turn: int
    reached: bool
    criterion: Criterion


def reaches_of(trajectories: Iterable[Trajectory], *, criteria: Criteria, check: Check) -> list[Reach]:
    """Every turn with every criterion of its task, turn by turn.

    Raises:
        InputError, TaskError: as `checklists.marks_of`.
    """
    found = list[Reach]()
    for one in trajectories:
        listed = list(criteria(one.task))
        new_CN = np.diff(marks_of(check, one, listed).met_CN, axis=1, prepend=False)
        turns = range(len(one.turns))
        found += [Reach(one, n, bool(new_CN[c, n]), listed[c]) for n in turns for c in range(len(listed))]
    return found


def drawn_reaches(
    trajectories: Iterable[Trajectory], *, criteria: Criteria, check: Check, others: int = 3
) -> list[Reach]:
    """All pairs that are true, and of the others, which are many more, `others` times as many, drawn; in their order.

    Raises:
        InputError: nothing is reached, or others below 1; and as `reaches_of`.
    """
    found = reaches_of(trajectories, criteria=criteria, check=check)
    rest = [k for k, one in enumerate(found) if not one.reached]
    wanted = others * (len(found) - len(rest))
    if wanted < 1:
        raise InputError(f"no attempt of {len(found)} turns by criteria reaches any, or others={others} is below 1")
    drawn = random.Random(derive_seed("reaches", len(found))).sample(rest, min(wanted, len(rest)))
    kept = set(drawn)
    return [one for k, one in enumerate(found) if one.reached or k in kept]


def f1_figures(true_K: np.ndarray, p_K: np.ndarray, threshold: float = 0.5) -> dict[str, float]:
    """Compare what is said with what is so.

    Args:
        true_K: bool, K >= 1.
        p_K: chance that each is true, as said; said to be true is what lies above the threshold.
        threshold: of p.

    Returns:
        f1, constant, difference (the former less the latter), accuracy, ranked (NaN where all pairs are alike), said
        (share said to be true), true (share that is) and pairs, how many.

    Raises:
        InputError: no pair.
    """
    if not len(true_K):
        raise InputError("there is no turn to ask about; give attempts that have one, of tasks with criteria")
    said_K = p_K > threshold
    count, positive = len(true_K), int(true_K.sum())
    f1 = 2 * (said_K & true_K).sum() / max(1, said_K.sum() + positive)
    constant = 2 * positive / (positive + count)
    ranked = nan
    if 0 < positive < count:
        ranked = stats.mannwhitneyu(p_K[true_K], p_K[~true_K]).statistic / (positive * (count - positive))
    figures = {"f1": f1, "constant": constant, "difference": f1 - constant, "accuracy": (said_K == true_K).mean()}
    figures |= {"ranked": ranked, "said": said_K.mean(), "true": positive / count, "pairs": count}
    return {name: float(value) for name, value in figures.items()}
