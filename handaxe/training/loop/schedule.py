"""Learning rate schedules, for `learning_rate` of any stage.

A rate is a function of the step, so that a resumed run has the rates of the uninterrupted one without stored state.
The schedulers of torch and transformers change an optimizer, which lives in another process on a cluster.
"""

import math
from collections.abc import Callable
from typing import Literal

from handaxe.core.errors import InputError

__all__ = ["ScheduleName", "cosine", "linear", "make_schedule", "rate_at", "warmup"]

Schedule = Callable[[int], float]
ScheduleName = Literal["constant", "linear", "cosine"]


def warmup(peak: float, *, steps: int) -> Schedule:
    """Increase linearly to `peak`, reached in step `steps` - 1, then stay constant.

    Example:
        warmup(1.0, steps=4) gives 0.25, 0.5, 0.75, 1, 1, ...
    """
    if steps < 1:
        raise InputError(f"a warm-up takes at least 1 step, not {steps}")
    return lambda step: peak * min(1.0, (step + 1) / steps)


def cosine(peak: float, *, steps: int, warmup_steps: int = 0, floor: float = 0.0) -> Schedule:
    """Increase linearly over `warmup_steps`, then decay along half a cosine to `floor` at step `steps`.

    Example:
        cosine(1.0, steps=4) gives 1, 0.854, 0.5, 0.146, and 0 from step 4 on.
    """
    return _decay(peak, lambda share: 0.5 * (1 + math.cos(math.pi * share)), steps, warmup_steps, floor)


def linear(peak: float, *, steps: int, warmup_steps: int = 0, floor: float = 0.0) -> Schedule:
    """Increase linearly over `warmup_steps`, then decay linearly to `floor` at step `steps`.

    Example:
        linear(1.0, steps=4) gives 1, 0.75, 0.5, 0.25, and 0 from step 4 on.
    """
    return _decay(peak, lambda share: 1 - share, steps, warmup_steps, floor)


def make_schedule(name: ScheduleName, peak: float, *, steps: int, warmup_steps: int = 0) -> float | Schedule:
    """Make the learning rate of a run.

    Args:
        name: constant, or a decay to 0 at step `steps`; the last step still trains.
        peak: the rate after the warm-up.
        steps: total number of steps.
        warmup_steps: steps of linear increase; 0 for none.

    Returns:
        A number for a constant rate without warm-up, else a function of the step.

    Raises:
        InputError: the warm-up does not fit.
    """
    if name == "constant" or not steps:
        return warmup(peak, steps=warmup_steps) if warmup_steps else peak
    return (cosine if name == "cosine" else linear)(peak, steps=steps, warmup_steps=warmup_steps)


def rate_at(learning_rate: float | Schedule, step: int) -> float:
    """Learning rate of a step, from a number or a schedule."""
    return learning_rate(step) if callable(learning_rate) else learning_rate


def _decay(peak: float, shape: Callable[[float], float], steps: int, warmup_steps: int, floor: float) -> Schedule:
    """A warm-up, then `shape` of the share of remaining steps done: 1 at share 0, 0 at share 1."""
    if not 0 <= warmup_steps < steps:
        raise InputError(f"{warmup_steps} steps of warm-up do not fit before the end at step {steps}")

    def rate(step: int) -> float:
        if step < warmup_steps:
            return peak * (step + 1) / warmup_steps
        share = min(1.0, (step - warmup_steps) / (steps - warmup_steps))
        return floor + (peak - floor) * shape(share)

    return rate
