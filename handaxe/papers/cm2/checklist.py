"""Reward for the criteria of a task, in the turn of their first fulfilment."""

from collections.abc import Callable, Sequence

import numpy as np

from handaxe.core.errors import TaskError
from handaxe.core.protocols import Check, Reward
from handaxe.core.records import Criterion, Group, Scores, Task
from handaxe.ops.criteria import criteria_progress, user_turn_indices

__all__ = ["checklist"]


def checklist(*, criteria: Callable[[Task], Sequence[Criterion]], check: Check) -> Reward:
    """Give each turn the weight of newly earned criteria.

        r_nc    = 1 if criterion c is met after turn n and not before, n is in the user turn of c, and all dependencies
                  of c were met before turn n; else 0
        w_c     = points_c / sum of the points of the L_t criteria of the same user turn t
        turns_n = (1 / L) sum_c w_c r_nc        L: number of user turns with criteria

    A trajectory that earns everything gets 1. A met criterion stays met, and a criterion met before its dependencies is
    never earned.

    Args:
        criteria: criteria of a task, with positive points.
        check: criteria met after each turn.

    Returns:
        A reward with outcome [G] of zeros and turns, per trajectory [N]. Its turn_channels, read by
        `papers.cm2.checklist_credit`, are "checklist", sum_c w_c r_nc; and for each criterion "item/NAME", 1 in the
        turn that earns it and in all eligible turns before (back-filled), and "weight/NAME", w_c in turns that can earn
        it, else 0. The channel "later" is the reward earned after the first turn of the user, 0 if the user speaks
        once.

    Raises:
        TaskError: no criterion, two of one name, a dependency that does not exist, or points that are not positive.
        InputError: the check does not give [C, N] bool.

    Example:
        points 0.6 and 0.4; one rollout meets the first in turn 0 and the second in turn 1  ->  turns 0.6, 0.4
        another meets the first in turn 1 alone  ->  turns 0, 0.6; item/first 1, 1 and item/second 0, 0

    Paper: arXiv:2602.12268 (CM2), section 3.
    Differs: nothing in the arithmetic; the check is an argument, where the paper asks a language model for evidence.
    """

    def reward(group: Group) -> Scores:
        listed = list(criteria(group.task))
        weight_C = _weights(group.task, listed)
        parts = len({one.part for one in listed})
        later_G = np.zeros(len(group))
        earned: list[np.ndarray] = []
        items: list[np.ndarray] = []
        weights: list[np.ndarray] = []
        for i, trajectory in enumerate(group):
            marks = criteria_progress(check, trajectory, listed)
            earned.append(weight_C @ marks.earned_CN)
            later_G[i] = earned[i][user_turn_indices(trajectory) > 0].sum() / parts
            later_CN = np.logical_or.accumulate(marks.earned_CN[:, ::-1], axis=1)[:, ::-1]
            items.append((marks.open_CN & later_CN).astype(np.float64))
            weights.append(weight_C[:, None] * marks.open_CN)
        channels = {"checklist": tuple(earned)}
        for c, one in enumerate(listed):
            channels[f"item/{one.name}"] = tuple(own[c] for own in items)
            channels[f"weight/{one.name}"] = tuple(own[c] for own in weights)
        turns = tuple(own / parts for own in earned)
        return Scores(np.zeros(len(group)), turns=turns, channels={"later": later_G}, turn_channels=channels)

    return reward


def _weights(task: Task, criteria: Sequence[Criterion]) -> np.ndarray:
    if not criteria or not all(one.points > 0 for one in criteria):
        raise TaskError(f"task {task.id!r} needs criteria, each with positive points: {[c.points for c in criteria]}")
    total = {one.part: sum(other.points for other in criteria if other.part == one.part) for one in criteria}
    return np.array([one.points / total[one.part] for one in criteria], np.float64)
