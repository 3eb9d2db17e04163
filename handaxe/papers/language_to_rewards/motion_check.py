"""Execution of targets by predictive sampling, and the rule for a motion that was carried out."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from handaxe.ops.seeds import derive_seed
from handaxe.papers.language_to_rewards.planar_body import AXES, REST, advance
from handaxe.papers.language_to_rewards.predictive_sampling import predictive_sampling
from handaxe.papers.language_to_rewards.residual_reward import Targets, motion_residuals, motion_reward

__all__ = ["carry_out", "is_carried_out"]

STEPS = 50
"""Steps of an execution, of 0.1 seconds each."""
JUDGED = 20
"""Last steps, over which a motion is judged."""
TOLERANCES = {"height": 0.15, "place": 0.3, "speed": 0.25, "heading": 0.3, "turn": 0.4}
"""Largest mean error of a residual; a quarter to a half of the distance between two targets."""


@lru_cache(maxsize=4096)
def carry_out(segments: tuple[Targets, ...]) -> np.ndarray:
    """Execute targets from rest, one after the other, each for 50 steps.

    Args:
        segments: targets in order; several only for primitive skills.

    Returns:
        [51, 8] states of the last segment, not to be changed. Equal segments give equal states.

    Example:
        carry_out((Targets(height=0.5),)) ends near height 0.5
    """
    states = REST[None]
    for targets in segments:

        def score(ahead: np.ndarray, controls: np.ndarray, targets: Targets = targets) -> np.ndarray:
            return motion_reward(ahead, controls, targets)

        states = predictive_sampling(
            states[-1], advance=advance, score=score, axes=AXES, steps=STEPS, seed=derive_seed("motion", str(targets))
        )
    return states


def is_carried_out(states: np.ndarray, goal: Targets) -> bool:
    """Check the last two seconds of a motion.

        |mean over the last 20 steps of r_k| <= tolerance_k      for every residual k but the effort

    Tolerances are 0.15 for the height, 0.3 for each coordinate of a place, 0.25 for speeds, 0.3 for the heading and 0.4
    for the turning rate.

    Args:
        states: [T, 8] states.
        goal: targets of the instruction.

    Example:
        height 0.55 throughout and else at rest: carried out for Targets(height=0.5), not for Targets()

    Paper: arXiv:2306.08647 (Language to Rewards), success of an instruction.
    Differs: a rule with tolerances, chosen by the feasibility of the targets; people judged the paper's motions.
    """
    last_TD = states[-JUDGED:]
    residuals = motion_residuals(last_TD, np.zeros((len(last_TD), AXES)), goal)
    errors = {name: abs(own.mean(axis=0)) for name, own in residuals.items() if name in TOLERANCES}
    return all(bool((error <= TOLERANCES[name]).all()) for name, error in errors.items())
