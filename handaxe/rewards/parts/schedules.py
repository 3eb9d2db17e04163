"""Weights and targets that change with the training step, for `weighted` and `thought_length`.

Example:
    two_stage(1.0, 0.5, at=30) is 1.0 at steps 0..29 and 0.5 from step 30 on
    ramp(384, 640, steps=105) is 384 at step 0, 512 at step 52.5, 640 from step 105 on
    shift(2, 1, at=10, over=20) is 2 at steps 0..10, 1.5 at step 20, 1 from step 30 on
    sigmoid(350) is 1.0 at step 0, 0.571 at step 69, 0.482 at step 70, 0.182 at step 74
training.loop.schedule.cosine, half a cosine, is a weight too.
Paper: arXiv:2504.13958 (ToolRL), its two-stage and smooth reward scales and its dynamic length target;
arXiv:2508.16949 (RuscaRL), the sigmoid that removes hints.
"""

import math
from collections.abc import Callable

from handaxe.core.errors import InputError

__all__ = ["Change", "ramp", "shift", "sigmoid", "two_stage"]

Change = tuple[float, float]
"""First and last value."""


def two_stage(before: float, after: float, *, at: int) -> Callable[[int], float]:
    """The value `before` at steps below `at`, `after` from then on."""
    return lambda step: before if step < at else after


def ramp(start: float, end: float, *, steps: int) -> Callable[[int], float]:
    """Linear from `start` at step 0 to `end` at step `steps`, then `end`.

    Raises:
        InputError: `steps` below 1.
    """
    if steps < 1:
        raise InputError(f"a schedule over {steps} steps; give at least 1")
    return lambda step: start + (end - start) * min(max(step, 0) / steps, 1.0)


def shift(before: float, after: float, *, at: int = 0, over: int = 0) -> Callable[[int], float]:
    """The value `before` up to step `at`, then `after`, reached at once or linearly over `over` steps.

    Raises:
        InputError: `at` or `over` below 0.
    """
    if at < 0 or over < 0:
        raise InputError(f"a schedule at step {at} over {over} steps; give 0 or more of each")
    line = ramp(before, after, steps=over) if over else two_stage(before, after, at=0)
    return lambda step: line(step - at)


def sigmoid(steps: int, *, middle: float = 0.2, steepness: float = 125.0) -> Callable[[int], float]:
    """Fall from 1 to 0 along a sigmoid: 1 / (1 + exp(k (x - x0))) with x = step / (steps - 1).

    Args:
        steps: T, of the run, >= 2; step 0 is x = 0, the last one x = 1.
        middle: x0, with value 0.5; 0.2 in the paper.
        steepness: k > 0; 125 in the paper, for 350 steps.

    Raises:
        InputError: fewer than 2 steps, or a steepness that is not above 0.
    """
    if steps < 2 or not steepness > 0:
        raise InputError(f"a sigmoid over {steps} steps of steepness {steepness}; give 2 or more, and above 0")
    # 1 / (1 + e^z) = (1 - tanh(z / 2)) / 2, which no z overflows.
    return lambda step: 0.5 * (1 - math.tanh(steepness * (step / (steps - 1) - middle) / 2))
