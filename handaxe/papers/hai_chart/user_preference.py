"""Preferences of a user, learned from accepted and rejected hints."""

from __future__ import annotations

import math
from collections.abc import Iterable

from handaxe.core.errors import InputError
from handaxe.papers.hai_chart.chart_query import CLAUSES, Operation, Query

__all__ = ["UserPreference"]


class UserPreference:
    """Logistic model over operations, updated after each hint.

        P(chart) = sigmoid(sum over the operations o of the chart of w_o),      w_o = 0 at first
        a hint o:  w_o <- w_o + rate (accepted - sigmoid(w_o))

    Args:
        rate: size of an update, above 0.

    Raises:
        InputError: unless rate > 0.

    Example:
        rate 1, accepted ("mark", "bar"), rejected ("x", "age"): weights 0.5 and -0.5. A bar of another x has
        P = sigmoid(0.5) = 0.622, a bar over age 0.5

    Paper: arXiv:2406.11033 (HAIChart), the reward by user preferences.
    Unconfirmed: the paper's model.
    Differs: the released code trains a recurrent network on sessions.
    """

    def __init__(self, *, rate: float = 1.0):
        if not rate > 0:
            raise InputError(f"UserPreference: rate is {rate}; give a number above 0")
        self._rate = rate
        self.weights: dict[Operation, float] = {}

    def learn(self, *, accepted: Iterable[Operation] = (), rejected: Iterable[Operation] = ()) -> None:
        """Update the weights of accepted, then of rejected hints."""
        for label, hints in ((1.0, accepted), (0.0, rejected)):
            for one in hints:
                weight = self.weights.get(one, 0.0)
                self.weights[one] = weight + self._rate * (label - _sigmoid(weight))

    def score(self, query: Query) -> float:
        """Return R_user of a complete or partial query, in (0, 1)."""
        return _sigmoid(sum(self.weights.get(one, 0.0) for one in zip(CLAUSES, query)))


def _sigmoid(value: float) -> float:
    return 1 / (1 + math.exp(-value))
