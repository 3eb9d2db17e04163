"""A competition: tables, metric, and leaderboards of fitted pipelines."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from handaxe.papers.mle_dojo.position_score import human_rank
from handaxe.worlds.parts.table_data import METRICS, TableData, table_data, table_score
from handaxe.worlds.parts.table_pipelines import TableChoice, build_pipeline, fit_quietly, zoo

__all__ = ["BoardEntry", "Contest", "contest"]


class BoardEntry(NamedTuple):
    """Result of a submission.

    raw: metric over all test rows. position: mean position score on the public and the private leaderboard.
    """

    raw: float
    position: float


class Contest:
    """Competition of a data set. A submission has a number for each test row, the public rows first.

    Args:
        name: of the data set.
        tables: its parts.

    Paper: arXiv:2505.07782 (MLE-Dojo), a competition with public and private leaderboards.
    Differs: leaderboards hold fitted pipelines instead of people's submissions; public and private rows are scored
        separately.

    Attributes:
        key: names the tables.
        metric: accuracy or rmse.
        higher: True if a higher metric is better.
    """

    def __init__(self, key: str, name: str, tables: TableData):
        self.key = key
        self.name = name
        self.metric = METRICS[name]
        self.higher = self.metric == "accuracy"
        self._tables = tables

    @functools.cached_property
    def given(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Tables of a program: training X and y, and X of the test rows."""
        own = self._tables
        return own.train_X, own.train_y, np.concatenate([own.public_X, own.private_X])

    @functools.cached_property
    def fitted(self) -> dict[TableChoice, tuple[float, float]]:
        """Public and private metric of each pipeline of the zoo, fitted on the training rows."""
        return {choice: self._parts(self._predict(choice)) for choice in zoo()}

    @functools.cached_property
    def boards(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Public and private leaderboard, in the order of the zoo."""
        public, private = zip(*self.fitted.values(), strict=True)
        return public, private

    def rank(self, choice: TableChoice) -> float:
        """Position score of a pipeline of the zoo."""
        return human_rank(self.fitted[choice], self.boards, higher=self.higher)

    def submit(self, predictions: Sequence[float] | None) -> BoardEntry | None:
        """Score a submission; None for a wrong number of rows, or numbers that are not finite."""
        found = np.asarray([] if predictions is None else predictions, dtype=np.float64)
        answers = np.concatenate([self._tables.public_y, self._tables.private_y])
        if found.shape != answers.shape or not np.isfinite(found).all():
            return None
        position = human_rank(self._parts(found), self.boards, higher=self.higher)
        return BoardEntry(table_score(self.name, answers, found), position)

    def _parts(self, predictions: np.ndarray) -> tuple[float, float]:
        rows = len(self._tables.public_y)
        public = table_score(self.name, self._tables.public_y, predictions[:rows])
        return public, table_score(self.name, self._tables.private_y, predictions[rows:])

    def _predict(self, choice: TableChoice) -> np.ndarray:
        train_X, train_y, test_X = self.given
        pipeline = build_pipeline(choice, regression=not self.higher)
        return np.asarray(fit_quietly(pipeline, train_X, train_y).predict(test_X), dtype=np.float64)


@functools.cache
def contest(name: str, number: int, rows: int) -> Contest:
    """The competition of a data set, a number and a number of rows; leaderboards are fitted once a process.

    Raises:
        InputError: as `table_data`.

    Example:
        contest("wine", 0, 120).boards[0] holds 30 accuracies
    """
    return Contest(f"{name} {number} {rows}", name, table_data(name, number=number, rows=rows))
