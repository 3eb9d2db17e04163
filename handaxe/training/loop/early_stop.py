"""When a training step has had enough optimiser steps: pass one as `enough` of `train`."""

from collections.abc import Mapping

from handaxe.core.errors import InputError
from handaxe.training.loop.update import Enough

__all__ = ["above"]


def above(metric: str, bound: float) -> Enough:
    """Stop once a metric of the optimiser step just taken is above a bound.

    Args:
        metric: of an optimiser step, such as "loss/approx_kl", which is measured before the step moves the policy.
        bound: in the metric's unit; LOOP (arXiv:2502.01600) stops where the KL divergence from the policy
            that sampled is above 20.

    Returns:
        Metrics -> whether it is. It raises InputError where there is no such metric.

    Example:
        above("loss/approx_kl", 20.0)({"loss/approx_kl": 20.5}) is True
    """

    def enough(metrics: Mapping[str, float]) -> bool:
        if metric not in metrics:
            raise InputError(f"an optimiser step has no metric {metric!r}; there are {', '.join(sorted(metrics))}")
        return metrics[metric] > bound

    return enough
