"""How well a judge tells in which turn of an attempt a sub-goal was reached, against the rule of the world.

    true_k = sub-goal met after the turn and not before it        said_k = p_k > threshold
    f1 = 2 TP / (2 TP + FP + FN), 0 where nothing true was said    constant = 2 P / (P + K), the f1 of saying always yes

over the K pairs of a turn and a sub-goal, P of which are true; saying always no has the f1 0. `ranked` is the chance
that a true pair has a higher p than one that is not, ties one half: 0.5 where p tells nothing.

Example:
    true 1, 0, 0, 1 and p 0.9, 0.8, 0.1, 0.4  ->  f1 = 2 / (2 + 1 + 1) = 0.5, constant = 4 / 6, ranked = 3 / 4
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import nan
from typing import NamedTuple

import numpy as np
from scipy import stats

from handaxe.errors import InputError
from handaxe.judges.verdict_token import Ask
from handaxe.records import Criterion, Task, Trajectory
from handaxe.slots import Check

__all__ = ["Reach", "f1_figures", "transition_f1", "transitions"]

Chances = Callable[[Sequence[str]], np.ndarray]
"""Questions -> [Q] p of yes to each, such as `VerdictToken.chances`."""
JUST_NOW = "This step has brought it about:"
"""Stands before a criterion's text: what holds since an earlier turn was not reached in this one."""


class Reach(NamedTuple):
    """One turn of an attempt and one sub-goal, and whether the sub-goal was reached in this turn."""

    attempt: Trajectory
    turn: int
    criterion: Criterion
    reached: bool


def transitions(
    trajectories: Sequence[Trajectory], *, criteria: Callable[[Task], Sequence[Criterion]], check: Check
) -> list[Reach]:
    """Every turn with every sub-goal of its task, turn by turn."""
    found = list[Reach]()
    for one in trajectories:
        listed = list(criteria(one.task))
        met_CN = np.asarray(check(one, listed), bool)
        new_CN = np.diff(met_CN, axis=1, prepend=False)
        found += [
            Reach(one, n, listed[c], bool(new_CN[c, n])) for n in range(len(one.turns)) for c in range(len(listed))
        ]
    return found


def transition_f1(pairs: Sequence[Reach], *, ask: Ask, chances: Chances, threshold: float = 0.5) -> dict[str, float]:
    """Ask a judge about every pair.

    Args:
        pairs: of `transitions`.
        ask: renders the question about one.
        chances: answers them.
        threshold: a pair is said to be true where p is above this.

    Returns:
        f1, constant, difference (the former less the latter), accuracy, ranked (NaN where all pairs are alike), said
        (share said to be true), true (share that is) and pairs, how many.

    Raises:
        InputError: no pair.
    """
    if not pairs:
        raise InputError("there is no turn to ask about; give attempts that have one, of tasks with sub-goals")
    told = [replace(one.criterion, text=f"{JUST_NOW} {one.criterion.text}") for one in pairs]
    p_K = chances([ask(one.attempt, one.turn, criterion) for one, criterion in zip(pairs, told)])
    return f1_figures(np.array([one.reached for one in pairs]), p_K, threshold)


def f1_figures(true_K: np.ndarray, p_K: np.ndarray, threshold: float) -> dict[str, float]:
    """The figures that `transition_f1` gives, of what is true, [K] bool, and of p, [K]."""
    said_K, count = p_K > threshold, len(true_K)
    f1 = 2 * (said_K & true_K).sum() / max(1, said_K.sum() + true_K.sum())
    constant = 2 * true_K.sum() / (true_K.sum() + count)
    mixed = 0 < true_K.sum() < count
    ranked = stats.mannwhitneyu(p_K[true_K], p_K[~true_K]).statistic if mixed else nan
    figures = {"f1": f1, "constant": constant, "difference": f1 - constant, "accuracy": (said_K == true_K).mean()}
    figures |= {"ranked": ranked / (true_K.sum() * (~true_K).sum()) if mixed else nan}
    figures |= {"said": said_K.mean(), "true": true_K.mean(), "pairs": count}
    return {name: float(value) for name, value in figures.items()}
