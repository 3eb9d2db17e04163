"""Rewards an answer by the nuggets that it supports."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Reward
from handaxe.core.records import Task, Trajectory
from handaxe.rewards.outcome import outcome

__all__ = ["Verify", "nugget_share", "support_share"]

Verify = Callable[[str, str, Sequence[str]], Sequence[float]]
"""(question, answer, nuggets) -> support of each nugget: 1, 0.5 in part, or 0."""


def nugget_share(*, rubric: Callable[[Task], Sequence[tuple[float, str]]], verify: Verify) -> Reward:
    """Give the weighted share of a task's nuggets that the final answer supports.

        R_i = sum_k w_k V(q, y_i, n_k) / sum_k w_k

    A question with a short answer has one nugget, a question with a long answer several.

    Args:
        rubric: (task) -> weights > 0 and nuggets, one or more.
        verify: see `Verify`.

    Returns:
        A reward with outcome [G], from 0 to 1.

    Raises:
        InputError: see `support_share`.

    Example:
        weights 2, 1 and 1, support 1, 0.5 and 0  ->  2.5 / 4 = 0.625

    Paper: arXiv:2510.14660 (Search-Gen-V), the reward of a rubric.
    Unconfirmed: 0.5 for partial support.
    Differs: nothing.
    """

    def score(one: Trajectory) -> float:
        weights, nuggets = zip(*rubric(one.task), strict=True)
        question = one.task.messages[-1].content
        return support_share(weights, verify(question, one.final_text, nuggets))

    return outcome(score)


def support_share(weights: Sequence[float], support: Sequence[float]) -> float:
    """Weighted mean of the support.

    Raises:
        InputError: other numbers of weights and values, none, or a weight that is not above 0.

    Example:
        ([2, 1, 1], [1, 0.5, 0])  ->  0.625
    """
    weight_K, support_K = np.asarray(weights, np.float64), np.asarray(support, np.float64)
    if weight_K.shape != support_K.shape or not len(weight_K) or not (weight_K > 0).all():
        raise InputError(f"a rubric has a weight above 0 and a support for each nugget, not {weights} and {support}")
    return float(weight_K @ support_K / weight_K.sum())
