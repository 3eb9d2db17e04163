"""Learning rate schedules, for `learning_rate` of any stage."""

import math
from collections.abc import Callable

from handaxe.core.errors import InputError

__all__ = ["cosine", "rate_at", "warmup"]

Schedule = Callable[[int], float]


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
    if not 0 <= warmup_steps < steps:
        raise InputError(f"{warmup_steps} steps of warm-up do not fit before the end at step {steps}")

    def rate(step: int) -> float:
        if step < warmup_steps:
            return peak * (step + 1) / warmup_steps
        share = min(1.0, (step - warmup_steps) / (steps - warmup_steps))
        return floor + (peak - floor) * 0.5 * (1 + math.cos(math.pi * share))

    return rate


def rate_at(learning_rate: float | Schedule, step: int) -> float:
    """Learning rate of a step, from a number or a schedule."""
    return learning_rate(step) if callable(learning_rate) else learning_rate
