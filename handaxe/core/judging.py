"""The signatures of judges, which `handaxe.core.protocols` hands on: a judge is what fits one of these or several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from handaxe.core.records import Group, Scores, Trajectory

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Fittable", "Judge", "Labelled", "PairJudge", "StepJudge"]

Labelled = tuple[Group, Scores]
"""Attempts at one task and what somebody says of them, as a reward would say it; NaN: nothing is known. A preference is
a group of two with outcomes (strength, 0), a tie has equal ones, labels of steps stand in `turns`."""


class Judge(Protocol):
    """Scores attempts by parameters of its own; says the same of the same attempts until it learns."""

    def score(self, group: Group) -> np.ndarray:
        """[G] scores; neither the order of the siblings nor who else is there matters, up to rounding."""
        ...


@runtime_checkable
class StepJudge(Protocol):
    """Scores every turn of an attempt."""

    def score_steps(self, group: Group) -> tuple[np.ndarray, ...]:
        """[N_i] scores a sibling, one a turn."""
        ...


@runtime_checkable
class PairJudge(Protocol):
    """Says which of two attempts at one task is better."""

    def compare(self, pairs: Sequence[tuple[Trajectory, Trajectory]]) -> np.ndarray:
        """[P] chance that the first is better."""
        ...


@runtime_checkable
class Fittable(Protocol):
    """A judge that learns from labels."""

    def fit(self, labelled: Sequence[Labelled]) -> dict[str, float]:
        """Learn from them; metrics."""
        ...
