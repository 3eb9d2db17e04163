"""Pipeline of `handaxe synthesize`: tasks with rubrics, filtered by rollouts item by item and task by task."""

from __future__ import annotations

from handaxe.core.errors import InputError
from handaxe.papers.orbit.rubric_book import RubricBook, seed_cases
from handaxe.papers.orbit.search_criteria import check_searches
from handaxe.synthesis import steps
from handaxe.synthesis.context import PipelineContext
from handaxe.synthesis.draft_rollouts import DraftRollouts
from handaxe.synthesis.pipeline import Pipeline
from handaxe.synthesis.rubric_writer import AskedRubrics, RubricWriter, RuleRubrics, reference_rubrics, seed_rubrics

__all__ = ["orbit_rubrics"]

SEED = 1_000_003
"""Seed of the tasks of the seed base."""


def orbit_rubrics(
    at: PipelineContext,
    *,
    cases: int = 3,
    seeds: int = 48,
    samples: int = 4,
    below: float = 0.75,
    low: float = 0.1,
    high: float = 0.75,
    max_turns: int = 6,
    batch: int = 256,
) -> Pipeline:
    """Write a rubric for each task from retrieved seed rubrics, and filter criteria and tasks by rollouts.

        propose -> solve -> rubric -> dedupe -> decontaminate -> difficulty, with a policy

    The rule adapts retrieved criteria about searches, in the world hops, or takes reference calls with `--cases 0`; a
    model (`--proposer`) writes criteria and judges whether rollouts meet them. Rollouts are those of `--policy`, or of
    the expert with mistakes.

    Args:
        cases: retrieved cases of a rubric.
        seeds: cases of the seed base.
        samples: rollouts of a task.
        below: bound of a criterion's pass rate.
        low, high: band of a task's pass rate, of a policy.
        max_turns: of a rollout.
        batch: tasks of a round.

    Raises:
        InputError: retrieved criteria by rule in another world than hops, or a number out of range.

    Example:
        "7120 heir boss?"  ->  the criteria "search boss" and "search heir", without "one word", which all rollouts meet

    Paper: arXiv:2510.15859 (ORBIT), construction and filters of rubrics.
    Unconfirmed: the bounds.
    Differs: a criterion is dropped from the rubric of its own task; see also `handaxe show orbit`.
    """
    rollouts = DraftRollouts(at.world, at.env, at.policy, samples=samples, max_turns=max_turns)
    chosen = [
        steps.draw_tasks(at.world, options=at.options),
        steps.solve(at.world, at.env),
        steps.rubric(_writer(at, cases, seeds), rollouts, below=below),
        steps.dedupe(),
        steps.decontaminate(at.tests),
    ]
    if at.policy is not None:
        engine, format, digest = at.policy
        band = {"samples": samples, "low": low, "high": high}
        chosen.append(
            steps.difficulty(at.world, at.env, engine, format, policy=digest, max_turns=max_turns, **band)  # type: ignore[arg-type]
        )
    return Pipeline("orbit_rubrics", tuple(chosen), batch=batch, about={"world": at.world.name, "options": at.options})


def _writer(at: PipelineContext, cases: int, seeds: int) -> RubricWriter:
    searches = at.world.name == "hops"
    if at.desk is None and cases and not searches:
        raise InputError(f"criteria that a rule retrieves are about searches in hops, not {at.world.name}: --cases 0")
    if at.desk is None and not cases:
        return reference_rubrics(at.world)
    book = RubricBook(seed_cases(at.world.tasks("train", seeds, SEED)), cases=cases) if searches else None
    rule = (
        reference_rubrics(at.world) if book is None else RuleRubrics(book, check_searches, f"orbit, {cases} of {seeds}")
    )
    if at.desk is None:
        return rule
    return AskedRubrics(at.desk, seed_rubrics(at.world, rule, count=seeds, seed=SEED), cases=cases)
