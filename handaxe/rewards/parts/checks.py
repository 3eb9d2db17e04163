"""Checks of what a reward says, shared by the lifts, the combinators and every reward that wraps another."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeGuard

import numpy as np

from handaxe.core.errors import InputError, VerifierError
from handaxe.core.records import Group, Scores, Trajectory

__all__ = ["called_with", "checked", "is_number", "number", "outcome_only"]


def is_number(value: object) -> TypeGuard[float]:
    """Whether a value that a policy wrote is a number to reckon with: finite, no bool, and of a size that a float has.

    A whole number of JSON may be of any size, and one such as 10**400 is an error wherever a float is made of it.
    """
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e300


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
    if not isinstance(scores, Scores):
        raise InputError(
            f"reward {name!r} gave {scores!r:.60} for a group, and not Scores: write @outcome above a function that "
            "scores one attempt"
        )
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


def called_with(score: Callable[[Trajectory], Any], trajectory: Trajectory) -> Any:
    """What `score` says of a trajectory.

    Raises:
        VerifierError: naming the trajectory, when it raises anything but an InputError, which passes through.
    """
    try:
        return score(trajectory)
    except InputError:
        raise
    except Exception as error:  # whatever a reward dies of, the policy must not be punished for it
        raise VerifierError(
            f"the reward of trajectory {trajectory.id!r} failed: {type(error).__name__}: {error}",
            trajectory=trajectory.id,
        ) from error
