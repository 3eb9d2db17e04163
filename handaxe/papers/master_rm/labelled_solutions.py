"""Worked solutions of a policy, with the verdict of the rule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from handaxe.asking.ask import Ask
from handaxe.core.errors import InputError
from handaxe.core.protocols import ChatFormat, Engine
from handaxe.core.records import Sampling, Trajectory
from handaxe.curricula.task_pool import task_pool
from handaxe.methods.teach_judge import NO, YES, Labelled
from handaxe.papers.master_rm.openers import openers, solution_question, solution_text
from handaxe.training.stages.context import make_site
from handaxe.training.stages.sources import played
from handaxe.worlds.world import Split, World

__all__ = ["Lessons", "Solutions", "judging_lessons", "play_solutions", "whole_question"]

SAMPLING = Sampling(max_tokens=48)
SIBLINGS = 4
RIGHT = 0.5


class Solutions(NamedTuple):
    """Worked solutions, by the verdict of the rule."""

    right: Sequence[Trajectory]
    wrong: Sequence[Trajectory]


class Lessons(NamedTuple):
    """Labelled questions of both judges: equal numbers of questions, yes and no.

    plain    ordinary solutions alone
    openers  the same, with openers instead of some wrong solutions
    """

    plain: Sequence[Labelled]
    openers: Sequence[Labelled]


def play_solutions(
    engine: Engine, format: ChatFormat, world: World, *, split: Split, tasks: int, seed: int
) -> Solutions:
    """Play a policy, 4 rollouts a task, and keep worked solutions: two turns or more, the last one with an answer.

    Args:
        engine: of the policy.
        format: its chat format.
        world: gives tasks, tools and the rule.
        split: of the tasks.
        tasks: number of tasks.
        seed: of tasks and rollouts.
    """
    site = make_site(
        engine=engine,
        format=format,
        env=world.env(world.tools),
        rollout=world.make_rollout(world.start_turns),
        tasks=task_pool(world.tasks(split, tasks, seed), shuffle=False),
        reward=world.correct,
        sampling=SAMPLING,
        seed=seed,
    )
    right, wrong = list[Trajectory](), list[Trajectory]()
    answers = world.need("is_answer")
    for rated in played(groups=tasks, group_size=SIBLINGS)(site):
        for one, outcome in zip(rated.group, rated.scores.outcome, strict=True):
            if len(one.turns) > 1 and answers(one.turns[-1]):
                (right if outcome > RIGHT else wrong).append(one)
    return Solutions(right, wrong)


def judging_lessons(found: Solutions, *, labels: int, negatives: int) -> Lessons:
    """Make the training questions of a judge with openers, and of one without.

        plain     `labels` right and `labels` + `negatives` wrong solutions, whole
        openers   the same, with the last `negatives` wrong solutions cut to their openers

    Args:
        found: solutions of training tasks.
        labels: right solutions, and as many wrong solutions.
        negatives: openers; the share 1 / 8 of 2 `labels` is the paper's.

    Raises:
        InputError: too few solutions.

    Example:
        labels 2, negatives 1  ->  2 yes and 3 no each; the third no is a whole solution or its opener

    Paper: arXiv:2507.08794 (Master-RM), the augmented training data.
    Differs: both data sets have the same size, so that a gain is due to the openers.
    """
    if len(found.right) < labels or len(found.wrong) < labels + negatives or min(labels, negatives) < 1:
        raise InputError(
            f"{labels} labels and {negatives} openers need {labels} right and {labels + negatives} wrong solutions; "
            f"there are {len(found.right)} and {len(found.wrong)}. Give more tasks, or fewer labels and openers"
        )
    right = [(whole_question(one), YES) for one in found.right[:labels]]
    wrong = [(whole_question(one), NO) for one in found.wrong[: labels + negatives]]
    cut = openers(found.wrong[labels : labels + negatives], most=negatives)
    whole = wrong[labels + len(cut) :]
    return Lessons([*right, *wrong], [*right, *wrong[:labels], *cut, *whole])


def whole_question(solution: Trajectory) -> Ask:
    """The question about a whole solution."""
    return solution_question(solution.task, solution_text(solution))
