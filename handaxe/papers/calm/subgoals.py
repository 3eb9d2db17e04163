"""Rewards the turns in which the sub-goals of a task are reached, one after the other."""

from collections.abc import Callable, Sequence

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Check, Reward
from handaxe.core.records import Criterion, Group, Scores, Task, Trajectory
from handaxe.ops.checklists import marks_of, told_of

__all__ = ["subgoals"]


def subgoals(
    *, criteria: Callable[[Task], Sequence[Criterion]], check: Check, bonus: float = 0.5, just_now: bool = False
) -> Reward:
    """Give a bonus to each turn in which the current sub-goal, the first that was not reached yet, is reached.

        c = 0;  in turn n = 0, 1, ...:  r_n = bonus and c = c + 1 where sub-goal c is met after turn n, else r_n = 0

    One sub-goal a turn, in the order in which they are listed. One that was met too early counts in the turn after the
    one before it; what is met stays met. With `just_now` the check says what a turn has brought about, as a judge of
    transitions does, and a sub-goal is reached in a turn of which it says so: nothing said of an earlier turn counts.

    Args:
        criteria: the sub-goals of a task, in order.
        check: which of them are met after each turn, by rule or by a judge.
        bonus: b > 0.
        just_now: whether the check says which of them each turn has brought about instead.

    Returns:
        A reward with outcome [G] of zeros and turns, per trajectory [N]; the channel "reached" [G] is the share of
        sub-goals reached, 0 where there are none. `weighted` puts it beside what the environment pays.

    Raises:
        InputError: a bonus that is not above 0, a check that does not give [C, N] bool. TaskError: two criteria of one
            name, or one that comes after another that does not exist.

    Example:
        sub-goals key, door; met after turns: none, key, key, key and door  ->  0, 0.5, 0, 0.5; with the environment's
        1 at the end 0, 0.5, 0, 1.5

    Paper: arXiv:2409.12798 (CALM), a reward for sub-goals that language models name and judge.
    Unconfirmed: the formula; the abstract alone was read.
    Differs: sub-goals come with the task, where the paper has them written by a language model.
    """
    if not bonus > 0:
        raise InputError(f"subgoals has bonus={bonus}; give a number above 0")

    def reached(trajectory: Trajectory, listed: Sequence[Criterion]) -> np.ndarray:
        met_CN = told_of(check, trajectory, listed) if just_now else marks_of(check, trajectory, listed).met_CN
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
