"""Rubrics of single cases, from similar cases and criteria of a seed base that BM25 retrieves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.records import Criterion, RatedGroup, Task
from handaxe.ops.criteria import met_shares
from handaxe.papers.orbit.search_criteria import (
    GENERAL_ITEMS,
    SEARCH_PREFIX,
    check_searches,
    question_words,
    search_item,
)
from handaxe.synthesis.seed_rubrics import SeedCase, SeedRubrics

__all__ = ["RubricBook", "pass_rates", "seed_cases"]


def seed_cases(tasks: Sequence[Task]) -> list[SeedCase]:
    """Write the rubrics of seed tasks: a criterion for each relation of the question, and those of `GENERAL_ITEMS`.

    Args:
        tasks: of `hops`, with "path" in the metadata; the reference answer is not used.

    Returns:
        Cases, in order.

    Example:
        "4071 boss ally?"  ->  search boss, search ally, and five general criteria

    Idea: a seed base of rubrics, as HealthBench's.
    """
    found = list[SeedCase]()
    for task in tasks:
        relations = dict.fromkeys(task.metadata["path"])
        own = tuple(search_item(one) for one in relations)
        found.append(SeedCase(" ".join(question_words(task)), (*own, *GENERAL_ITEMS)))
    return found


class RubricBook:
    """Rubric of a task: criteria of the most similar seed cases, restricted to the question.

        cases      the k seed cases with the greatest BM25 score for the question
        criteria   of the retrieved cases, each once; of a relation only if the question names the relation
        points     mean over the retrieved cases that have the criterion
        dropped    criteria with a high pass rate, see `drop_easy`, unless no criterion with positive points is left

    Args:
        seeds: the seed base; one case or more.
        cases: k; 0 for the general criteria alone.

    Raises:
        InputError: no seed case, or a negative number.

    Example:
        "7120 heir boss?" retrieves "4071 boss ally" and "9000 heir"  ->  search boss, search heir, and general criteria

    Paper: arXiv:2510.15859 (ORBIT), rubrics by retrieval of similar cases and criteria.
    Unconfirmed: numbers of retrieved cases, and how the paper sets points.
    Differs: a rule adapts criteria to the question, where the paper asks a language model.
    """

    def __init__(self, seeds: Sequence[SeedCase], *, cases: int = 3):
        if not seeds or cases < 0:
            raise InputError(f"a rubric book has a seed case or more, and retrieves 0 or more, not {cases}")
        self._seeds = SeedRubrics(seeds)
        self._cases = cases
        self.dropped: frozenset[str] = frozenset()

    def retrieved(self, task: Task) -> list[SeedCase]:
        """The most similar cases, the most similar first."""
        return self._seeds.nearest(" ".join(question_words(task)), self._cases)

    def written(self, task: Task) -> list[Criterion]:
        """The rubric before criteria are dropped."""
        words = set(question_words(task))
        points: dict[str, list[float]] = {}
        first: dict[str, Criterion] = {}
        for one in [own for case in self.retrieved(task) for own in case.criteria] or list(GENERAL_ITEMS):
            if not one.name.startswith(SEARCH_PREFIX) or one.name.removeprefix(SEARCH_PREFIX) in words:
                first.setdefault(one.name, one)
                points.setdefault(one.name, []).append(one.points)
        return [Criterion(one.name, one.text, float(np.mean(points[name]))) for name, one in first.items()]

    def __call__(self, task: Task) -> list[Criterion]:
        """The rubric."""
        every = self.written(task)
        kept = [one for one in every if one.name not in self.dropped]
        return kept if any(one.points > 0 for one in kept) else every

    def drop_easy(self, groups: Sequence[RatedGroup], *, above: float = 0.75) -> Mapping[str, float]:
        """Drop criteria with positive points and a pass rate above a bound.

        Args:
            groups: rollouts of the policy.
            above: pass rate, 0 to 1; 1 drops nothing.

        Returns:
            Pass rates by name.

        Raises:
            InputError: a number out of range.

        Example:
            "one word" met by 90 of 100 rollouts -> dropped

        Paper: arXiv:2510.15859 (ORBIT), filter of criteria by pass rate.
        Unconfirmed: the threshold.
        Differs: a criterion is dropped in all rubrics, not in that of a case.
        """
        if not 0 <= above <= 1:
            raise InputError(f"above is {above}; give a share from 0 to 1")
        rates = pass_rates(self, groups)
        points = {one.name: one.points for rated in groups for one in self.written(rated.group.task)}
        self.dropped = frozenset(name for name, rate in rates.items() if rate > above and points[name] > 0)
        return rates


def pass_rates(book: RubricBook, groups: Sequence[RatedGroup]) -> Mapping[str, float]:
    """Compute pass rates of criteria, each over the rollouts of tasks with the criterion.

    Example:
        met by 1 of 4 rollouts  ->  0.25

    Paper: arXiv:2510.15859 (ORBIT), pass rates over sampled rollouts.
    Differs: nothing known.
    """
    pairs = [(book.written(rated.group.task), one) for rated in groups for one in rated.group]
    return met_shares(check_searches, pairs)
