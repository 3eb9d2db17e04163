"""Composite reward of a chart: a score of its data, rules of visualization, and preferences of the user."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from handaxe.core.errors import InputError
from handaxe.papers.hai_chart.chart_data import chart_data
from handaxe.papers.hai_chart.chart_features import chart_features
from handaxe.papers.hai_chart.chart_query import Query
from handaxe.papers.hai_chart.chart_rules import rule_score
from handaxe.papers.hai_chart.chart_tables import ChartTable
from handaxe.papers.hai_chart.rank_score import learned_score
from handaxe.papers.hai_chart.user_preference import UserPreference

__all__ = ["ChartReward", "RewardParts"]


class RewardParts(NamedTuple):
    """Data score and rule score of a chart, both in [0, 1]."""

    data: float
    rules: float


class ChartReward:
    """Reward of the charts of a table; data and rule scores are computed once for each chart.

        R = (w_data R_data + w_rules R_rules + w_user R_user) / (w_data + w_rules + w_user)

    Without a user the last terms of both sums are left out.

    Args:
        table: of the charts.
        score_weights: [F] of the learned score.
        mixture: w_data, w_rules, w_user; none negative, the first two not both 0.

    Raises:
        InputError: a negative weight, or no weight for data and rules.

    Example:
        R_data 0.8, R_rules 1, R_user 0.3 and equal weights: 0.7; without a user 0.9

    Paper: arXiv:2406.11033 (HAIChart), the composite reward.
    Unconfirmed: the sum, and the weights; equal weights here.
    """

    def __init__(
        self, table: ChartTable, score_weights: np.ndarray, *, mixture: tuple[float, float, float] = (1.0, 1.0, 1.0)
    ):
        if min(mixture) < 0 or not mixture[0] + mixture[1] > 0:
            raise InputError(
                f"ChartReward: mixture is {mixture}; give weights of at least 0, for data or rules above 0"
            )
        self.table = table
        self._score_weights = score_weights
        self._mixture = mixture
        self._parts: dict[Query, RewardParts] = {}

    def parts(self, query: Query) -> RewardParts:
        """Return the scores that do not depend on the user."""
        if query not in self._parts:
            data = chart_data(self.table, query)
            score = learned_score(chart_features(self.table, query, data), self._score_weights)
            self._parts[query] = RewardParts(score, rule_score(self.table, query, data))
        return self._parts[query]

    def score(self, query: Query, user: UserPreference | None = None) -> float:
        """Return R of a complete query."""
        data_weight, rule_weight, user_weight = self._mixture
        parts = self.parts(query)
        total = data_weight * parts.data + rule_weight * parts.rules
        if user is None:
            return total / (data_weight + rule_weight)
        return (total + user_weight * user.score(query)) / sum(self._mixture)
