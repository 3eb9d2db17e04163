"""Reward of weighted residuals with parameters that a program of setters chooses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from handaxe.core.errors import InputError

__all__ = ["Targets", "motion_residuals", "motion_reward", "residual_reward", "wrap_angle"]

SMOOTHING = 0.1
"""Width of the smooth absolute value around 0."""
WEIGHTS: Mapping[str, float] = {"height": 4.0, "place": 2.0, "speed": 2.0, "heading": 2.0, "turn": 1.0, "effort": 0.02}
NORMS: Mapping[str, str] = {"effort": "quadratic"}
"""Norm of a residual; the smooth absolute value for the others."""


class Targets(NamedTuple):
    """Parameters of the reward of a motion.

    height   of the torso; 1 at rest
    speed    forward, in units a second; negative for backward. Without effect with a place
    turn     turning rate in radians a second, to the left. Without effect with a heading
    heading  in radians, 0 is east, or None
    place    (x, y), or None
    """

    height: float = 1.0
    speed: float = 0.0
    turn: float = 0.0
    heading: float | None = None
    place: tuple[float, float] | None = None


def residual_reward(
    residuals: Mapping[str, np.ndarray], *, weights: Mapping[str, float], norms: Mapping[str, str]
) -> np.ndarray:
    """Sum weighted norms of residuals, with a negative sign.

        R = - sum_i w_i n_i(r_i)
        n(r) = r^2 / 2  (quadratic)   or   sqrt(r^2 + p^2) - p  (smooth absolute value, p = 0.1)

    Args:
        residuals: name -> [..., K] values; the norms of the K values are added.
        weights: name -> w, 0 or more.
        norms: name -> "quadratic" or "smooth"; smooth for a name without an entry.

    Returns:
        [...] rewards, at most 0.

    Raises:
        InputError: a residual without weight, a negative weight, or an unknown norm.

    Example:
        weights 1 and 0.5, residuals 0.2 and -1, both quadratic -> -(0.02 + 0.25) = -0.27

    Paper: arXiv:2306.08647 (Language to Rewards), the reward of weighted norms of residuals.
    Differs: nothing known.
    """
    total = 0.0
    for name, value in residuals.items():
        weight = weights.get(name, -1.0)
        norm = norms.get(name, "smooth")
        if weight < 0 or norm not in ("quadratic", "smooth"):
            raise InputError(
                f"residual {name!r} has the weight {weights.get(name)} and the norm {norm!r}; give a weight of 0 or "
                "more, and quadratic or smooth"
            )
        sized = value**2 / 2 if norm == "quadratic" else np.sqrt(value**2 + SMOOTHING**2) - SMOOTHING
        total = total - weight * sized.sum(axis=-1)
    return np.asarray(total, np.float64)


def motion_residuals(state_ND: np.ndarray, control_NA: np.ndarray, targets: Targets) -> dict[str, np.ndarray]:
    """Compare states with targets.

        height   z - height
        place    (x, y) - place                                  with a place, else
        speed    (forward speed - speed, speed to the left)
        heading  angle of heading, in (-pi, pi]                  with a heading, else
        turn     turning rate - turn
        effort   the controls

    Args:
        state_ND: [..., 8] states of `planar_body`.
        control_NA: [..., 4] controls.
        targets: parameters of the reward.

    Returns:
        name -> [..., K].

    Example:
        heading 0, velocity (1, 0.2), targets with speed 0.4 -> speed residuals (0.6, 0.2)
    """
    x, y, heading, height, vx, vy, turn, _ = np.moveaxis(state_ND, -1, 0)
    found = {"height": (height - targets.height)[..., None], "effort": control_NA}
    if targets.place is not None:
        found["place"] = np.stack([x - targets.place[0], y - targets.place[1]], axis=-1)
    else:
        forward = vx * np.cos(heading) + vy * np.sin(heading)
        sideways = vy * np.cos(heading) - vx * np.sin(heading)
        found["speed"] = np.stack([forward - targets.speed, sideways], axis=-1)
    if targets.heading is not None:
        found["heading"] = wrap_angle(heading - targets.heading)[..., None]
    else:
        found["turn"] = (turn - targets.turn)[..., None]
    return found


def motion_reward(state_ND: np.ndarray, control_NA: np.ndarray, targets: Targets) -> np.ndarray:
    """Score states and controls, [...]; see `residual_reward` with the weights of this module."""
    return residual_reward(motion_residuals(state_ND, control_NA, targets), weights=WEIGHTS, norms=NORMS)


def wrap_angle(angle: np.ndarray) -> np.ndarray:
    """Move angles into (-pi, pi].

    Example:
        1.5 pi -> -0.5 pi
    """
    return np.pi - (np.pi - angle) % (2 * np.pi)
