"""What a paper is that changes no method: figures that are computed, and nothing is trained.

A study's file lies beside the recipes and holds a constant `STUDY = Study(...)` and one function of the file's name,
whose keyword arguments are its knobs and which returns what measures: seed -> figures by name. `handaxe study NAME`
runs it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

from handaxe.methods.paper import Paper

__all__ = ["Bound", "Measured", "Paper", "Study"]

Measured = Callable[[int], Mapping[str, float]]
"""seed -> figures by name; what draws nothing takes no notice of the seed."""


class Bound(NamedTuple):
    """What a study decides: a sentence that holds where least <= figure <= most."""

    statement: str
    metric: str
    least: float = -inf
    most: float = inf

    def holds(self, figures: Mapping[str, float]) -> bool:
        """Whether the figure lies between the bounds; NaN lies nowhere."""
        return self.least <= figures[self.metric] <= self.most

    @property
    def said(self) -> str:
        """Such as "angle at most 1"."""
        sides = [("at least", self.least), ("at most", self.most)]
        bounds = " and ".join(f"{word} {value:g}" for word, value in sides if value not in (-inf, inf))
        return f"{self.metric} {bounds or 'is computed'}"


@dataclass(frozen=True, kw_only=True)
class Study:
    """What a study's file says of it besides its function.

    Args:
        paper: where it comes from.
        bounds: what its figures decide.
    """

    paper: Paper
    bounds: tuple[Bound, ...] = ()
