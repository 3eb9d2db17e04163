"""Figures of rankings and of single steps: rank@1, the first incorrect step, and choices between two next steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from handaxe.core.records import Group, RatedGroup, Trajectory
from handaxe.evaluation.bench_scores import first_error
from handaxe.evaluation.best_of import best_of_curve
from handaxe.evaluation.scenes import FORMAT, script, turn_messages
from handaxe.judges.reward_model import RewardModel
from handaxe.worlds.fact_chains import next_step, step_verdicts
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.world import World

__all__ = ["corrected_step", "first_error_figures", "rank_one", "step_choices"]


def rank_one(scores: Sequence[np.ndarray], groups: Sequence[RatedGroup]) -> np.ndarray:
    """Correctness of the rollout with the greatest score of each task; equal scores share the first place.

    Args:
        scores: [G] of each group.
        groups: with outcomes 0 and 1.

    Returns:
        [tasks].

    Example:
        scores 0.9, 0.9, 0.1 of a task with outcomes 1, 0, 1  ->  0.5

    Paper: arXiv:2501.01290 (ToolComp), rank@1.
    Differs: nothing.
    """
    return np.array(
        [best_of_curve(own, one.scores.outcome)[-1] for own, one in zip(scores, groups, strict=True)], np.float64
    )


def first_error_figures(judge: RewardModel, groups: Sequence[RatedGroup]) -> dict[str, float]:
    """Compare the first step below one half with the first incorrect step.

        error   share of the rollouts with an incorrect step in which both are the same step
        clean   share of the other rollouts without a step below one half
        f1      2 error clean / (error + clean), 0 if both are 0; NaN without rollouts of one kind

    Example:
        rollouts with an incorrect step: 1 of 2 found; without: 2 of 2  ->  error 0.5, clean 1, f1 2/3

    Idea: the form of ProcessBench (arXiv:2412.06559).
    """
    hits: dict[bool, list[float]] = {True: [], False: []}
    for one in groups:
        for trajectory, chance_N in zip(one.group, judge.score_steps(one.group), strict=True):
            wrong_N = np.flatnonzero(step_verdicts(trajectory) < 0)
            truth = int(wrong_N[0]) if len(wrong_N) else -1
            hits[truth >= 0].append(float(first_error(chance_N) == truth))
    error, clean = (float(np.mean(hits[kind])) if hits[kind] else float("nan") for kind in (True, False))
    both = error + clean
    return {"error": error, "clean": clean, "f1": 0.0 if both == 0 else 2 * error * clean / both}


def corrected_step(world: World, one: Trajectory, turn: int) -> Trajectory:
    """Play the correct steps before a turn again, and the correct next step in the place of the turn.

    Args:
        world: of the rollout.
        one: rollout with correct steps before the turn.
        turn: of the first incorrect step.

    Example:
        lookup, wrong lookup, answer with turn 1  ->  lookup, right lookup

    Paper: arXiv:2501.01290 (ToolComp), the corrected step of an annotator.
    Differs: the expert of the world writes the step.
    """
    steps = [*turn_messages(one)[:turn], next_step(one.task, one.turns[:turn])]
    env = world.env(world.tools)
    return demonstrate(env, one.task, script(*steps), format=FORMAT, id=f"{one.id}/corrected", max_turns=turn + 1)


def step_choices(judge: RewardModel, world: World, groups: Sequence[RatedGroup]) -> np.ndarray:
    """Choose between the first incorrect step of each rollout and the corrected step, which counts as 1.

    Returns:
        [P] for the rollouts with an incorrect step; 1/2 for equal scores.

    Example:
        probabilities 0.2 of the incorrect and 0.7 of the corrected step  ->  1

    Paper: arXiv:2501.01290 (ToolComp), process labels as pairs of next steps.
    Differs: steps are scored one by one, so that the order of both plays no role.
    """
    found = list[float]()
    for one in groups:
        for trajectory in one.group:
            wrong_N = np.flatnonzero(step_verdicts(trajectory) < 0)
            if len(wrong_N):
                turn = int(wrong_N[0])
                other = corrected_step(world, trajectory, turn)
                bad_N, good_N = judge.score_steps(Group(one.group.task, (_cut(trajectory, turn + 1), other)))
                found.append(0.5 + float(np.sign(good_N[turn] - bad_N[turn])) / 2)
    return np.array(found)


def _cut(one: Trajectory, turns: int) -> Trajectory:
    """The first turns of a rollout, so that the last turn is read without a later turn."""
    return replace(one, turns=one.turns[:turns])
