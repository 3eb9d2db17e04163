"""Weights and targets that change with the training step, for `weighted` and `thought_length`.

Example:
    two_stage(1.0, 0.5, at=30) is 1.0 at steps 0..29 and 0.5 from step 30 on
    ramp(384, 640, steps=105) is 384 at step 0, 512 at step 52.5, 640 from step 105 on
Paper: arXiv:2504.13958 (ToolRL), its two-stage and smooth reward scales and its dynamic length target.
"""

from collections.abc import Callable

from handaxe.errors import InputError

__all__ = ["ramp", "two_stage"]


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
