"""Reward for sub-goals reached in order."""

from collections.abc import Callable, Sequence

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Check, Reward
from handaxe.core.records import Criterion, Group, Scores, Task, Trajectory
from handaxe.ops.criteria import apply_check, criteria_progress

__all__ = ["subgoals"]


def subgoals(
    *, criteria: Callable[[Task], Sequence[Criterion]], check: Check, bonus: float = 0.5, per_transition: bool = False
) -> Reward:
    """Give a bonus to each turn that reaches the current sub-goal, the first open sub-goal.

        c = 0;  in turn n = 0, 1, ...:  r_n = bonus and c = c + 1 if sub-goal c is met after turn n, else r_n = 0

    One sub-goal a turn, in listed order. A sub-goal met too early counts in the turn after the previous one was
    reached; a met sub-goal stays met. With `per_transition` the check states which sub-goals each turn has reached, as
    a judge of transitions does: verdicts on earlier turns do not count.

    Args:
        criteria: sub-goals of a task, in order.
        check: sub-goals met after each turn, by rule or by a judge.
        bonus: b > 0.
        per_transition: the check states the sub-goals that each turn has reached, instead of those met after it.

    Returns:
        A reward with outcome [G] of zeros and turns, per trajectory [N]; the channel "reached" [G] is the share of
        sub-goals reached, 0 without sub-goals. `weighted` adds it to the environment's reward.

    Raises:
        InputError: a bonus that is not above 0, a check that does not give [C, N] bool. TaskError: two criteria of one
            name, or a dependency that does not exist.

    Example:
        sub-goals key, door; met after turns: none, key, key, key and door  ->  0, 0.5, 0, 0.5; with the environment's
        1 at the end 0, 0.5, 0, 1.5

    Paper: arXiv:2409.12798 (CALM), a reward for sub-goals that language models name and judge.
    Unconfirmed: the formula; the abstract alone was read.
    Differs: sub-goals come with the task; in the paper a language model writes them.
    """
    if not bonus > 0:
        raise InputError(f"subgoals has bonus={bonus}; give a number above 0")

    def reached(trajectory: Trajectory, listed: Sequence[Criterion]) -> np.ndarray:
        met_CN = (
            apply_check(check, trajectory, listed)
            if per_transition
            else criteria_progress(check, trajectory, listed).met_CN
        )
        out = np.zeros(len(trajectory.turns))
        current = 0
        for n in range(len(out)):
            if current < len(listed) and met_CN[current, n]:
                out[n] = bonus
                current += 1
        return out

    def reward(group: Group) -> Scores:
        listed = list(criteria(group.task))
        turns = tuple(reached(one, listed) for one in group)
        share = np.array([np.count_nonzero(own) / max(len(listed), 1) for own in turns], np.float64)
        return Scores(np.zeros(len(group)), turns=turns, channels={"reached": share})

    return reward
