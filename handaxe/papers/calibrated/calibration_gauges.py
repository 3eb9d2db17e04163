"""Calibration metrics of stated confidences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from handaxe.core.errors import InputError
from handaxe.core.metrics import RatioMetric, Statistic, TaskResult
from handaxe.core.records import Trajectory
from handaxe.papers.calibrated import calibration

__all__ = ["Calibration", "calibration_gauges"]

CONFIDENCE = "confidence"
CORRECT = 0.5
"""Outcomes above this are correct."""


class Calibration(NamedTuple):
    """The fields `gauges` and `statistics` of a world."""

    gauges: dict[str, RatioMetric]
    statistics: dict[str, Statistic]


def calibration_gauges(confidence: Callable[[Trajectory], float | None], *, bins: int = 10) -> Calibration:
    """Create calibration metrics over the trajectories with a confidence c, correct (z = 1) or incorrect (z = 0).

        stated       their share of all trajectories        confidence   mean of c
        brier        mean of (c - z)^2                      mcip         mean of c where z = 0
        ece, auroc   see `calibration`; over all tasks, for evaluations with one trajectory per task only

    Args:
        confidence: stated confidence of a trajectory, 0 to 1; None without one.
        bins: number of bins of ece; 10 in the paper.

    Raises:
        InputError: from ece and auroc, for tasks with several trajectories.

    Example:
        c 0.9 correct, c 0.9 incorrect, none stated -> stated 2/3, confidence 0.9, brier 0.41, mcip 0.9, ece 0.4,
        auroc 0.5

    Paper: arXiv:2601.07264 (the confidence dichotomy), its metrics.
    Differs: a trajectory without a confidence is excluded and counted in `stated`; the paper does not specify it.
    """

    def stated(one: Trajectory, outcome: float) -> float:
        del outcome
        return float(confidence(one) is not None)

    def mean(value: Callable[[float, float], float]) -> Callable[[Trajectory, float], float]:
        def measure(one: Trajectory, outcome: float) -> float:
            found = confidence(one)
            return 0.0 if found is None else float(value(found, float(outcome > CORRECT)))

        return measure

    gauges = {
        "stated": RatioMetric(stated),
        CONFIDENCE: RatioMetric(mean(lambda c, z: c), stated),
        "brier": RatioMetric(mean(lambda c, z: (c - z) ** 2), stated),
        "mcip": RatioMetric(mean(lambda c, z: c * (1 - z)), mean(lambda c, z: 1 - z)),
    }
    return Calibration(
        gauges,
        {
            "ece": lambda tasks: calibration.calibration_error(*_confidences(tasks), bins=bins),
            "auroc": lambda tasks: calibration.auroc(*_confidences(tasks)),
        },
    )


def _confidences(tasks: Sequence[TaskResult]) -> tuple[list[float], list[float]]:
    """Confidence and correctness of the trajectories with a confidence."""
    if any(one.scored > 1 for one in tasks):
        raise InputError("ece and auroc need one trajectory per task: evaluate with --samples 1")
    stated = [one for one in tasks if one.scored and one.gauges[CONFIDENCE][1]]
    return [one.gauges[CONFIDENCE][0] for one in stated], [float(one.correct) for one in stated]
