"""Labels of actions for a reward model: by rule, by substitution of actions, and hard negatives twice."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np

from handaxe.core.protocols import StepJudge
from handaxe.core.records import Group, Trajectory
from handaxe.judges.exact_steps import exact_labels

__all__ = ["step_lessons"]

Label = tuple[Trajectory, int, bool]
"""Trajectory, number of the turn, and whether its action is correct."""


def step_lessons(
    *,
    verdicts: Callable[[Trajectory], np.ndarray],
    substituted: bool = True,
    accepts: StepJudge | None = None,
) -> Callable[[Iterable[Trajectory]], list[Label]]:
    """Make labels for `methods.labelled_turns.teach_turns`, from rollouts and a rule alone.

        rule          every turn with a verdict other than 0
        substitution  the correct first action of each trajectory on the screen of the next task, if incorrect there
        hard          incorrect actions that the judge accepts before it learns, with a score above 0, a second time

    Args:
        verdicts: rule for the correctness of each turn, such as `World.verdicts`.
        substituted: add substitutions.
        accepts: judge of the generation before; None: no hard negatives.

    Returns:
        (trajectories) -> labels (trajectory, turn number, correct or not).

    Example:
        a with verdicts 1, -1 and b with verdict 1, and a judge with scores 0.3 and 0.2 for a: (a, 0, True),
        (a, 1, False), (b, 0, True); a's first action at b (False) and b's at a (False); (a, 1, False)

    Paper: arXiv:2505.21496 (UI-Genie), section 3.3, the data of its reward model.
    Differs: truncated and continued trajectories are missing, since completion is not asked about. The paper
        substitutes segments of trajectories within an app, as failures of the whole trajectory, and takes hard
        negatives from descriptions of unrelated elements instead of from the labels.
    """
    by_rule = exact_labels(verdicts)

    def labels(trajectories: Iterable[Trajectory]) -> list[Label]:
        given = list(trajectories)
        found = by_rule(given)
        if substituted:
            found += [one for one in _substituted(given, verdicts) if not one[2]]
        return found if accepts is None else [*found, *_hard(found, accepts)]

    return labels


def _substituted(given: Sequence[Trajectory], verdicts: Callable[[Trajectory], np.ndarray]) -> list[Label]:
    tasks = {one.task.id: one.task for one in given}
    following = dict(zip(tasks, [*list(tasks.values())[1:], *list(tasks.values())[:1]]))
    found = []
    for one in given:
        if one.turns and verdicts(one)[0] > 0 and following[one.task.id].id != one.task.id:
            moved = replace(one, task=following[one.task.id])
            found.append((moved, 0, bool(verdicts(moved)[0] > 0)))
    return found


def _hard(labels: Sequence[Label], accepts: StepJudge) -> list[Label]:
    wrong = [label for label in labels if not label[2]]
    scores = [accepts.score_steps(Group(one.task, (one,)))[0][turn] for one, turn, _ in wrong]
    return [label for label, score in zip(wrong, scores) if score > 0]
