"""ORBIT (arXiv:2510.15859): rubrics from retrieved cases, filtered by rollouts, as the reward of GRPO."""

from handaxe import rewards
from handaxe.curricula.task_pool import task_pool
from handaxe.methods.method import Method, replace
from handaxe.papers.orbit.rubric_book import RubricBook, seed_cases
from handaxe.papers.orbit.rubric_filters import RUBRIC_LABEL, drop_easy_criteria, medium_tasks
from handaxe.papers.orbit.search_criteria import check_searches
from handaxe.training.stages.choose import choose
from handaxe.training.stages.probe import probe
from handaxe.training.stages.sources import played

__all__ = ["orbit"]

SEEDS = 1_000_003
"""Seed of the tasks of the seed base."""


def orbit(
    base: Method,
    *,
    cases: int = 3,
    seeds: int = 48,
    train_tasks: int = 96,
    probes: int = 4,
    low: float = 0.1,
    high: float = 0.75,
    item_high: float = 0.75,
) -> Method:
    """Write a rubric for each task from retrieved seed cases, filter tasks and criteria, and reward points.

    Args:
        cases: retrieved cases of a rubric; 0 for the general criteria alone.
        seeds: cases of the seed base.
        train_tasks: tasks before the filter.
        probes: rollouts of a task for the filters.
        low, high: bounds of a task's mean reward.
        item_high: greatest pass rate of a criterion.
    """
    book = RubricBook(seed_cases(base.world.tasks("train", seeds, SEEDS)), cases=cases)
    check = base.judge.check(rule=check_searches, criteria=book)
    rubric = rewards.rubric_points(criteria=book, check=check)
    sampled = played(groups=base.settings.groups, group_size=probes, arguments={"reward": rubric})
    filters = (
        probe(label=RUBRIC_LABEL, samples=probes, arguments={"reward": rubric}),
        choose(tasks=medium_tasks(low=low, high=high), label=RUBRIC_LABEL),
        drop_easy_criteria(book=book, source=sampled, above=item_high),
    )
    return replace(
        base,
        reward=rewards.weighted({"rubric": (1.0, rubric), "correct": (0.0, base.reward)}),
        tasks=lambda tasks, seed: task_pool(tasks[:train_tasks], seed=seed),
        stages=(*base.stages, *filters),
    )
