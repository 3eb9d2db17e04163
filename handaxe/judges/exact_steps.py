"""Labels steps by a rule of the world for the correctness of each turn."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.records import Group, Trajectory

__all__ = ["ExactSteps", "exact_labels", "exact_steps"]


def exact_steps(*, verdicts: Callable[[Trajectory], np.ndarray]) -> ExactSteps:
    """Make a judge by rule of a world's verdicts.

        r_k = verdicts(trajectory)[k], in {-1, 0, 1}

    Args:
        verdicts: of every turn, such as `World.verdicts`.

    Returns:
        A judge and StepJudge; the score of a rollout is the sum over its steps. It does not learn.

    Raises:
        InputError: the number of verdicts differs from the number of turns.

    Example:
        verdicts 1, -1, 1  ->  steps 1, -1, 1, score 1

    Idea: a tool that checks a step gives more information than the outcome; see arXiv:2510.14942 (GroundedPRM).
    """
    return ExactSteps(verdicts)


def exact_labels(
    verdicts: Callable[[Trajectory], np.ndarray],
) -> Callable[[Iterable[Trajectory]], list[tuple[Trajectory, int, bool]]]:
    """Make labels for `methods.labelled_turns.teach_turns`: each turn with a verdict other than 0, correct above 0.

    Example:
        verdicts 1, 0, -1 of a trajectory t  ->  (t, 0, True), (t, 2, False)
    """

    def labels(trajectories: Iterable[Trajectory]) -> list[tuple[Trajectory, int, bool]]:
        found = [(one, k, float(value)) for one in trajectories for k, value in enumerate(verdicts(one))]
        return [(one, k, value > 0) for one, k, value in found if value]

    return labels


class ExactSteps:
    """See `exact_steps`."""

    def __init__(self, verdicts: Callable[[Trajectory], np.ndarray]):
        self._verdicts = verdicts

    def score(self, group: Group) -> np.ndarray:
        """[G]: sums over steps."""
        return np.array([own.sum() for own in self.score_steps(group)], np.float64)

    def score_steps(self, group: Group) -> tuple[np.ndarray, ...]:
        """[N_i] a sibling."""
        found = tuple(np.asarray(self._verdicts(one), np.float64) for one in group)
        for one, own in zip(group, found, strict=True):
            if own.shape != (len(one.turns),):
                raise InputError(f"verdicts on {one.id!r} have shape {own.shape}; give one for each turn")
        return found
