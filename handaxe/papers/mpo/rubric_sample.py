"""Rubric, scored samples, and the two models that read them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from handaxe.core.records import Task

__all__ = ["JuniorModel", "MOST", "MetaModel", "Rubric", "RubricSample", "add_scores", "count_words", "within_budget"]

Rubric = tuple[str, ...]
"""Items, a sentence each, without duplicates."""
MOST = 6
"""Points of an item at most."""


class RubricSample(NamedTuple):
    """A rollout with its score by the rubric."""

    task: Task
    text: str
    score: float


class JuniorModel(Protocol):
    """Reward model that scores texts by a rubric."""

    def score(self, rubric: Rubric, task: Task, texts: Sequence[str]) -> list[tuple[float | None, ...]]:
        """For each text a score of each item, None where no score can be read."""
        ...


class MetaModel(Protocol):
    """Meta reward model that rewrites the rubric."""

    def screen(self, rubric: Rubric, samples: Sequence[RubricSample]) -> list[bool]:
        """True for each sample that the rubric scores badly."""
        ...

    def analyse(self, rubric: Rubric, samples: Sequence[RubricSample]) -> list[str]:
        """Critique of each sample: how the rubric was fooled; "" without a finding."""
        ...

    def refine(self, rubric: Rubric, critiques: Sequence[str]) -> list[Rubric]:
        """Proposal of a rubric for each critique; () without one."""
        ...

    def merge(self, rubric: Rubric, proposals: Sequence[Rubric]) -> Rubric:
        """One rubric of all proposals; () without one."""
        ...


def add_scores(scores: Sequence[float | None]) -> float:
    """Add the scores of the items; an item without a readable score earns 0.

        R = sum_c s_c

    Example:
        4, 3, None  ->  7

    Paper: arXiv:2504.20157 (MPO), the reward by a rubric, by its released code.
    Differs: nothing.
    """
    return float(sum(one or 0.0 for one in scores))


def count_words(rubric: Rubric) -> int:
    """Number of words of all items.

    Example:
        ("No letter twice.", "Short.")  ->  4

    Idea: the length of a rubric, for the budget of the merge.
    """
    return sum(len(item.split()) for item in rubric)


def within_budget(proposals: Sequence[Rubric], words: int) -> list[Rubric]:
    """Keep the first proposals that together have at most `words` words.

    Example:
        proposals of 5, 4 and 3 words, budget 10  ->  the first two

    Paper: arXiv:2504.20157 (MPO), the word budget of the merge, by its released code.
    Differs: nothing.
    """
    kept, used = list[Rubric](), 0
    for one in proposals:
        used += count_words(one)
        if used > words:
            break
        kept.append(one)
    return kept
