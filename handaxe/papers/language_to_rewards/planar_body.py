"""Body in the plane with a height: position, heading and height, moved by bounded accelerations."""

import numpy as np

__all__ = ["AXES", "GAIN", "REST", "SECONDS", "advance"]

AXES = 4
"""Axes of a pose: x, y, heading in radians, height."""
SECONDS = 0.1
"""Time of a step."""
GAIN = np.array([4.0, 4.0, 8.0, 4.0])
DRAG = 2.0
REST = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0])
"""State at the start: pose, then rates; height 1, no motion."""


def advance(state_ND: np.ndarray, control_NA: np.ndarray) -> np.ndarray:
    """Move bodies by a step.

        rate' = rate + 0.1 (gain * control - 2 rate)        pose' = pose + 0.1 rate'

    Gains are 4 for x, y and height, and 8 for the heading. Controls are clipped to [-1, 1], so rates stay below half
    of the gain.

    Args:
        state_ND: [N, 8] poses (x, y, heading, height) and rates.
        control_NA: [N, 4] accelerations of the axes, as shares of the gain.

    Returns:
        [N, 8] states after the step.

    Example:
        at rest at (0, 0), control (1, 0, 0, 0) -> rate 0.4 along x, and x = 0.04

    Idea: a body whose optimiser takes milliseconds, with targets of a legged robot's torso.
    """
    control_NA = np.clip(control_NA, -1.0, 1.0)
    rate_NA = state_ND[..., AXES:] + SECONDS * (GAIN * control_NA - DRAG * state_ND[..., AXES:])
    return np.concatenate([state_ND[..., :AXES] + SECONDS * rate_NA, rate_NA], axis=-1)
