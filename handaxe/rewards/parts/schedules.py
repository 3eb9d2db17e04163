"""Weights and targets that change with the training step, for `weighted` and `thought_length`.

Example:
    two_stage(1.0, 0.5, at=30) is 1.0 at steps 0..29 and 0.5 from step 30 on
    ramp(384, 640, steps=105) is 384 at step 0, 512 at step 52.5, 640 from step 105 on
    shift(2, 1, at=10, over=20) is 2 at steps 0..10, 1.5 at step 20, 1 from step 30 on
Paper: arXiv:2504.13958 (ToolRL), its two-stage and smooth reward scales and its dynamic length target.
"""

from collections.abc import Callable

from handaxe.errors import InputError

__all__ = ["Change", "ramp", "shift", "two_stage"]

Change = tuple[float, float]
"""A value at first, and in the end."""


def two_stage(before: float, after: float, *, at: int) -> Callable[[int], float]:
    """The value `before` at steps below `at`, `after` from then on."""
    return lambda step: before if step < at else after


def ramp(start: float, end: float, *, steps: int) -> Callable[[int], float]:
    """From `start` at step 0 in a straight line to `end` at step `steps`, and `end` ever after.

    Raises:
        InputError: when `steps` is not at least 1.
    """
    if steps < 1:
        raise InputError(f"a schedule over {steps} steps; give at least 1")
    return lambda step: start + (end - start) * min(max(step, 0) / steps, 1.0)


def shift(before: float, after: float, *, at: int = 0, over: int = 0) -> Callable[[int], float]:
    """The value `before` up to step `at`, and `after` from then on, at once or in a straight line over so many steps.

    Raises:
        InputError: `at` or `over` below 0.
    """
    if at < 0 or over < 0:
        raise InputError(f"a schedule at step {at} over {over} steps; give 0 or more of each")
    line = ramp(before, after, steps=over) if over else two_stage(before, after, at=0)
    return lambda step: line(step - at)
