"""Figures of an evaluation that say whether policies are as often right as they say they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from handaxe.core.errors import InputError
from handaxe.core.metrics import RatioMetric, Statistic, TaskResult
from handaxe.core.records import Trajectory
from handaxe.ops import calibration

__all__ = ["Calibration", "calibration_figures"]

CONFIDENCE = "confidence"
RIGHT = 0.5
"""An attempt whose outcome is above this is right."""


class Calibration(NamedTuple):
    """The fields `gauges` and `statistics` of a world."""

    gauges: dict[str, RatioMetric]
    statistics: dict[str, Statistic]


def calibration_figures(confidence: Callable[[Trajectory], float | None], *, bins: int = 10) -> Calibration:
    """Make the figures of calibration: of the attempts that state a confidence c, right (z = 1) or wrong (z = 0),

        stated       their share of all attempts            confidence   mean of c
        brier        mean of (c - z)^2                      mcip         mean of c where z = 0
        ece, auroc   see ops.calibration; of evaluations with one attempt a task, and not of some tasks only

    Args:
        confidence: how sure an attempt says it is, 0 to 1; None where it does not say.
        bins: of ece; 10 in the paper.

    Raises:
        InputError: by ece and auroc, where a task was attempted more than once.

    Example:
        c 0.9 right, c 0.9 wrong, none stated  ->  stated 2/3, confidence 0.9, brier 0.41, mcip 0.9, ece 0.4, auroc 0.5

    Paper: arXiv:2601.07264 (the confidence dichotomy), its metrics.
    Differs: an attempt without a confidence is left out and counted in `stated`; the paper does not say.
    """

    def stated(one: Trajectory, outcome: float) -> float:
        del outcome
        return float(confidence(one) is not None)

    def of_c(what: Callable[[float, float], float]) -> Callable[[Trajectory, float], float]:
        def measure(one: Trajectory, outcome: float) -> float:
            found = confidence(one)
            return 0.0 if found is None else float(what(found, float(outcome > RIGHT)))

        return measure

    gauges = {
        "stated": RatioMetric(stated),
        CONFIDENCE: RatioMetric(of_c(lambda c, z: c), stated),
        "brier": RatioMetric(of_c(lambda c, z: (c - z) ** 2), stated),
        "mcip": RatioMetric(of_c(lambda c, z: c * (1 - z)), of_c(lambda c, z: 1 - z)),
    }
    return Calibration(
        gauges,
        {
            "ece": lambda tasks: calibration.calibration_error(*_answers(tasks), bins=bins),
            "auroc": lambda tasks: calibration.auroc(*_answers(tasks)),
        },
    )


def _answers(tasks: Sequence[TaskResult]) -> tuple[list[float], list[float]]:
    """Confidence and rightness of the attempts that state one."""
    if any(one.scored > 1 for one in tasks):
        raise InputError("ece and auroc are told of one attempt a task: evaluate with --samples 1")
    said = [one for one in tasks if one.scored and one.gauges[CONFIDENCE][1]]
    return [one.gauges[CONFIDENCE][0] for one in said], [float(one.correct) for one in said]
