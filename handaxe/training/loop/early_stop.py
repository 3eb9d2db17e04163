"""Rules for skipping the remaining optimiser steps of a training step, for `Updates(early_stop=...)`."""

from collections.abc import Mapping

from handaxe.core.errors import InputError
from handaxe.training.loop.config import EarlyStop

__all__ = ["stop_above"]


def stop_above(metric: str, bound: float) -> EarlyStop:
    """Stop once a metric of the latest optimiser step exceeds a bound.

    Args:
        metric: of an optimiser step, such as "loss/approx_kl", which is measured before the step moves the policy.
        bound: in the metric's unit; LOOP (arXiv:2502.01600) stops above a KL divergence from the sampling policy of 20.

    Returns:
        Metrics -> True to stop. Raises InputError for a missing metric.

    Example:
        stop_above("loss/approx_kl", 20.0)({"loss/approx_kl": 20.5}) is True
    """

    def stop(metrics: Mapping[str, float]) -> bool:
        if metric not in metrics:
            raise InputError(f"an optimiser step has no metric {metric!r}; it has {', '.join(sorted(metrics))}")
        return metrics[metric] > bound

    return stop
