"""Lifts a plain function of one trajectory to a reward, and checks what any reward says.

Example:
    @outcome
    def says_four(trajectory): return trajectory.final_text == "4"

    on final texts "4", "5" and "4" it scores 1, 0 and 1
Idea: most rewards look at one trajectory; only those that compare siblings should have to see the group.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from handaxe.errors import InputError, VerifierError
from handaxe.records import Group, Scores, Trajectory
from handaxe.slots import Reward

__all__ = ["checked", "number", "outcome", "outcome_only", "per_turn"]


def outcome(score: Callable[[Trajectory], float]) -> Reward:
    """Lift `Trajectory -> float` to a reward: one number for each sibling, at the end of its attempt.

        outcome_i = score(trajectory_i)

    Args:
        score: True and False count as 1 and 0.

    Returns:
        A reward with outcome [G], and no per-turn part.

    Raises:
        VerifierError: naming the trajectory, when `score` raises, or returns None, NaN or anything but a number.
        InputError: whatever of this family `score` raises, such as TaskError, passes through: the data is at fault.

    Example:
        lengths 2, 0, 3 under outcome(lambda trajectory: len(trajectory.final_text))  ->  outcome 2, 0, 3
    """

    def reward(group: Group) -> Scores:
        return Scores(np.array([number(_call(score, one), one) for one in group], dtype=np.float64))

    return reward


def per_turn(score: Callable[[Trajectory], Iterable[float]]) -> Reward:
    """Lift `Trajectory -> [N] numbers` to a reward attached to turns; the outcome is 0, so nothing counts twice.

        turns_i[n] = score(trajectory_i)[n]        outcome_i = 0

    Args:
        score: one number for each of the N turns.

    Returns:
        A reward with outcome [G] of zeros and turns, per trajectory [N]. `total` adds them into one number.

    Raises:
        VerifierError: as `outcome`, and when there are not N numbers. A trajectory without a turn has none.

    Example:
        replies ok, failed under a score that gives 1 for ok and 0 otherwise  ->  turns (1, 0), outcome 0
    """

    def reward(group: Group) -> Scores:
        turns = tuple(_turn_values(_call(score, one), one) for one in group)
        return Scores(np.zeros(len(group)), turns=turns)

    return reward


def number(value: Any, trajectory: Trajectory) -> float:
    """The value as a finite float.

    Raises:
        VerifierError: naming the trajectory, for None, NaN, infinities and whatever is not a number.
    """
    if isinstance(value, (bool, int, float, np.bool_, np.integer, np.floating)) and np.isfinite(value):
        return float(value)
    raise VerifierError(
        f"trajectory {trajectory.id!r} was given the reward {value!r}; return a finite number", trajectory=trajectory.id
    )


def checked(scores: Scores, group: Group, name: str) -> Scores:
    """The scores as float64, after a look at their shapes and values.

    Args:
        name: of the component that gave them, for the message.

    Raises:
        VerifierError: naming the component and the trajectory whose outcome or turn reward is not finite.
        InputError: when the component does not give one outcome a sibling, or one value a turn.
    """
    values = np.asarray(scores.outcome, dtype=np.float64)
    if values.shape != (len(group),):
        raise InputError(f"reward {name!r} gave outcomes of shape {values.shape} for {len(group)} siblings")
    turns = None if scores.turns is None else tuple(np.asarray(turn, dtype=np.float64) for turn in scores.turns)
    wanted = [(len(one.turns),) for one in group]
    if turns is not None and [turn.shape for turn in turns] != wanted:
        raise InputError(f"reward {name!r} gave turn values of shape {[t.shape for t in turns]}; turns are {wanted}")
    for i, one in enumerate(group):
        if not np.isfinite(values[i]) or (turns is not None and not np.all(np.isfinite(turns[i]))):
            raise VerifierError(
                f"reward {name!r} gave trajectory {one.id!r} a value that is not finite", trajectory=one.id
            )
    return replace(scores, outcome=values, turns=turns)


def outcome_only(scores: Scores, name: str) -> Scores:
    """The scores, if they have no per-turn part; for mechanisms that multiply or choose by the outcome.

    Raises:
        InputError: when they have one; `total` says how to make it part of the outcome.
    """
    if scores.turns is not None:
        raise InputError(f"reward {name!r} has per-turn values, which cannot be used here; wrap it in rewards.total")
    return scores


def _call(score: Callable[[Trajectory], Any], trajectory: Trajectory) -> Any:
    try:
        return score(trajectory)
    except InputError:
        raise
    except Exception as error:  # whatever a reward dies of, the policy must not be punished for it
        raise VerifierError(
            f"the reward of trajectory {trajectory.id!r} failed: {type(error).__name__}: {error}",
            trajectory=trajectory.id,
        ) from error


def _turn_values(values: Any, trajectory: Trajectory) -> np.ndarray:
    numbers = [number(value, trajectory) for value in values] if isinstance(values, Iterable) else None
    if numbers is None or len(numbers) != len(trajectory.turns):
        raise VerifierError(
            f"trajectory {trajectory.id!r} has {len(trajectory.turns)} turns but was given the turn rewards {values!r}",
            trajectory=trajectory.id,
        )
    return np.array(numbers, dtype=np.float64)
