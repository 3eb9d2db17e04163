"""Criteria of a multi-turn task: a correct state after each turn of the user that the answer has calls for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from handaxe.core.records import Criterion, Task, Trajectory

__all__ = ["check_turns", "turn_criteria"]

FULFILLED = "The request is fulfilled when the turn ends:"


def turn_criteria(task: Task) -> list[Criterion]:
    """List a criterion for each turn of the user that the answer has calls for; none for a single-turn task.

    The part of a criterion is the number of its turn.

    Example:
        an answer with calls in the turns 0 and 2  ->  criteria "turn 0" and "turn 2"
    """
    if "later" not in task.metadata:
        return []
    said = [[one.content for one in task.messages], *task.metadata["later"]]
    return [
        Criterion(f"turn {number}", f"{FULFILLED} {' '.join(said[number])[:400]}", part=number)
        for number, calls in enumerate(task.metadata["gold"])
        if calls
    ]


def check_turns(trajectory: Trajectory, criteria: Sequence[Criterion]) -> np.ndarray:
    """Check criteria by the comparison of `UserTurns`: a turn of the user is compared when it ends, and only then.

    Returns:
        [C, N] bool: criterion c is met after turn n of the policy.
    """
    right = trajectory.env.get("turns", ())
    met_CN = np.zeros((len(criteria), len(trajectory.turns)), bool)
    for c, one in enumerate(criteria):
        number = int(one.name.split()[1])
        for n, turn in enumerate(trajectory.turns):
            met_CN[c, n] = turn.facts.get("user_turn", 0) > number and right[number]
    return met_CN
