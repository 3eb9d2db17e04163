"""Scores of executed pipelines on a table, and a model that estimates scores from other tables."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from handaxe.core.errors import InputError
from handaxe.ops.seeds import generator
from handaxe.papers.i_mcts.hybrid_value import unit_score
from handaxe.worlds.parts.table_data import METRICS, table_data, table_score
from handaxe.worlds.parts.table_pipelines import STAGES, TableChoice, build_pipeline, fit_quietly

__all__ = ["Estimate", "ExecutedScores", "PipelineScores", "choice_features", "fit_estimate"]

Estimate = Callable[[TableChoice], float]
"""Pipeline -> estimated score, 0 to 1, without an execution."""


class ExecutedScores(NamedTuple):
    """Unit scores of a pipeline on the training, development and test rows."""

    train: float
    dev: float
    test: float


class PipelineScores:
    """Executes pipelines on a table; equal pipelines are executed once.

    Args:
        name: data set.
        number: draw of the data set.
        rows: of the three parts together.

    Attributes:
        executed: pipelines with their scores, in the order of execution.
    """

    def __init__(self, name: str, *, number: int, rows: int):
        self.name = name
        self.executed: dict[TableChoice, ExecutedScores] = {}
        self._tables = table_data(name, number=number, rows=rows)

    def run(self, choice: TableChoice) -> ExecutedScores:
        """Fit a pipeline on the training rows, and score all parts."""
        if choice not in self.executed:
            self.executed[choice] = self._fit(choice)
        return self.executed[choice]

    def _fit(self, choice: TableChoice) -> ExecutedScores:
        own = self._tables
        low = METRICS[self.name] == "rmse"
        pipeline = fit_quietly(build_pipeline(choice, regression=low), own.train_X, own.train_y)
        parts = ((own.train_X, own.train_y), (own.public_X, own.public_y), (own.private_X, own.private_y))
        scores = [table_score(self.name, y, pipeline.predict(X)) for X, y in parts]
        return ExecutedScores(*(unit_score(score, low_is_better=low) for score in scores))


def choice_features(choice: TableChoice) -> np.ndarray:
    """Encode a pipeline: an indicator for each option, and for each pair of options of two stages.

    Example:
        15 options and 83 pairs -> [98], with 4 + 6 ones
    """
    ones = [np.array([option == own for option in STAGES[stage]], float) for stage, own in choice._asdict().items()]
    pairs = [np.outer(first, second).ravel() for first, second in itertools.combinations(ones, 2)]
    return np.concatenate([*ones, *pairs])


def fit_estimate(tables: Sequence[PipelineScores], *, samples: int, seed: int, ridge: float = 1.0) -> Estimate:
    """Fit a value model to executed pipelines of other tables.

        min_w,b sum_k (y_k - mean of y on its table - w . x_k)^2 + ridge |w|^2        estimate = clip(m + w . x, 0, 1)

    y is the development score, x as `choice_features`, m the mean of all y.

    Args:
        tables: one or more, without the table of the search.
        samples: pipelines drawn from each table.
        seed: of the draws.
        ridge: above 0.

    Returns:
        An Estimate.

    Raises:
        InputError: no table, or a number out of range.

    Example:
        fit_estimate([digits, wine], samples=40, seed=0)(TableChoice("standard")) is about 0.9

    Paper: arXiv:2502.14693 (I-MCTS), value model before execution.
    Differs: ridge regression on options replaces a language model that scores the plan from 0 to 100.
    """
    if not tables or samples < 1 or not ridge > 0:
        raise InputError(f"fit to 1 table and 1 pipeline or more with ridge above 0, not {len(tables)}, {samples}")
    grid = list(itertools.product(*STAGES.values()))
    X: list[np.ndarray] = []
    y: list[np.ndarray] = []
    for table in tables:
        rng = generator("fit_estimate", table.name, seed)
        drawn = [TableChoice(*grid[n]) for n in rng.permutation(len(grid))[:samples]]
        X += [choice_features(choice) for choice in drawn]
        y.append(np.array([table.run(choice).dev for choice in drawn]))
    centred = np.concatenate([own - own.mean() for own in y])
    mean = float(np.concatenate(y).mean())
    features = np.array(X)
    gram = features.T @ features + ridge * np.eye(features.shape[1])
    weights = np.linalg.solve(gram, features.T @ centred)
    return lambda choice: float(np.clip(mean + choice_features(choice) @ weights, 0, 1))
