"""Filters of tasks and criteria by rollouts of the policy."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Source, Stage, StageContext
from handaxe.core.records import Task
from handaxe.papers.orbit.rubric_book import RubricBook
from handaxe.training.stages.parts.read_label import read_label

__all__ = ["RUBRIC_LABEL", "drop_easy_criteria", "medium_tasks"]

RUBRIC_LABEL = "rubric"
"""Key of the metadata with the mean reward of a task."""


def medium_tasks(*, low: float = 0.1, high: float = 0.75, least: int = 12) -> Callable[[Sequence[Task]], list[Task]]:
    """Choose the tasks with a mean reward between two bounds.

        low <= mean <= high; with fewer than `least`, those nearest to the range are added, in the order of tasks

    Args:
        low, high: bounds, 0 to 1.
        least: tasks that are kept at least, as far as there are any.

    Returns:
        For `training.stages.choose`. A task without a label is left out, unless it is needed.

    Raises:
        InputError: low above high.

    Example:
        means 0.05, 0.4, 0.9 with least 1 -> the second

    Paper: arXiv:2510.15859 (ORBIT), filter of queries by their mean score.
    Unconfirmed: the bounds.
    Differs: a least number of tasks.
    """
    if not low <= high:
        raise InputError(f"low is {low} and high {high}; give bounds in order")

    def choose(tasks: Sequence[Task]) -> list[Task]:
        means = [read_label(one, RUBRIC_LABEL) for one in tasks]
        away = [np.inf if mean is None else max(low - mean, mean - high, 0.0) for mean in means]
        size = max(sum(distance == 0 for distance in away), min(least, len(tasks)))
        kept = sorted(sorted(range(len(tasks)), key=lambda n: away[n])[:size])
        return [tasks[n] for n in kept]

    return choose


def drop_easy_criteria(*, book: RubricBook, source: Source, above: float = 0.75) -> Stage:
    """Make a stage that drops criteria with a high pass rate.

    Args:
        book: of the rubrics.
        source: of rollouts.
        above: pass rate.

    Returns:
        A stage: one row with the numbers of criteria and of dropped ones, and the mean pass rate.

    Example:
        two of seven criteria above 0.75  ->  criteria 7, dropped 2

    Paper: arXiv:2510.15859 (ORBIT), see `RubricBook.drop_easy`.
    Unconfirmed: the threshold.
    Differs: nothing known.
    """

    def stage(site: StageContext) -> list[dict[str, float]]:
        rates = book.drop_easy(source(site), above=above)
        mean = float(np.mean(list(rates.values()))) if rates else 0.0
        return [{"step": 0.0, "criteria": float(len(rates)), "dropped": float(len(book.dropped)), "pass_rate": mean}]

    return stage
