"""Checks of scores for lifts, combinators and wrapping rewards."""

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, TypeGuard

import numpy as np

from handaxe.core.errors import InputError, VerifierError
from handaxe.core.records import Group, Scores, Trajectory
from handaxe.core.user_code import located
from handaxe.tools.background_loop import shared_loop

__all__ = ["call_score", "finite_number", "is_number", "outcome_only", "validate_scores"]


def is_number(value: object) -> TypeGuard[float]:
    """Return True for a finite number, no bool, below 1e300 in size.

    A JSON integer may have any size, and one such as 10**400 is an error in float arithmetic.
    """
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e300


def finite_number(value: Any, trajectory: Trajectory) -> float:
    """Convert a value to a finite float.

    Raises:
        VerifierError: None, NaN, infinities and values that are no number; it names the trajectory.
    """
    if isinstance(value, (bool, int, float, np.bool_, np.integer, np.floating)) and np.isfinite(value):
        return float(value)
    raise VerifierError(
        f"trajectory {trajectory.id!r} has the reward {value!r}; return a finite number", trajectory=trajectory.id
    )


def validate_scores(scores: Scores | Awaitable[Scores], group: Group, name: str) -> Scores:
    """Check shapes and values of scores, and convert the values to float64.

    Args:
        scores: of a reward; the coroutine of a reward that is a coroutine function is awaited.
        name: of the component, for the message.

    Raises:
        VerifierError: an outcome or turn reward is not finite; it names component and trajectory.
        InputError: the component does not give one outcome a sibling, or one value a turn.
    """
    if inspect.isawaitable(scores):
        scores = shared_loop().wait(_await(scores))
    if not isinstance(scores, Scores):
        raise InputError(
            f"reward {name!r} gave {scores!r:.60} for a group, and not Scores: write @outcome above a function that "
            "scores one rollout"
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


async def _await(scores: Awaitable[Scores]) -> Scores:
    return await scores


def outcome_only(scores: Scores, name: str) -> Scores:
    """Return scores without per-turn values, for mechanisms that multiply or choose by the outcome.

    Raises:
        InputError: the scores have per-turn values; `turns_to_outcome` adds them to the outcome.
    """
    if scores.turns is not None:
        raise InputError(
            f"reward {name!r} has per-turn values, which cannot be used here; wrap it in rewards.turns_to_outcome"
        )
    return scores


def call_score(score: Callable[[Trajectory], Any], trajectory: Trajectory) -> Any:
    """Call `score` with a trajectory.

    Raises:
        VerifierError: it raises an error; the message names the trajectory. An InputError passes through.
    """
    try:
        return score(trajectory)
    except InputError:
        raise
    except Exception as error:  # an error of a reward must not cost the policy
        raise VerifierError(
            f"the reward of trajectory {trajectory.id!r} failed: {located(error)}",
            trajectory=trajectory.id,
        ) from error
