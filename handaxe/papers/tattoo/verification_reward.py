"""Reward of a verification: correct labels, calibrated confidence, and support by tools."""

from __future__ import annotations

import math

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Reward
from handaxe.core.records import Trajectory
from handaxe.papers.tattoo.grounded_calls import grounded_call
from handaxe.papers.tattoo.verdicts import gold_probability, read_verdicts, supports
from handaxe.rewards.outcome import outcome

__all__ = ["step_rewards", "verification_reward"]


def verification_reward(*, calibration: float = 0.1, tools: float = 0.2) -> Reward:
    """Score a verification by the mean over its steps of label match, confidence and support.

        R = 1 / L sum_i s_i
        s_i = 1[r_i = gold_i] + calibration log p_i(gold_i) + tools support_i

    Args:
        calibration: weight of the log-probability of the correct label; >= 0.
        tools: weight of the support of the verdict by a tool's result; >= 0.

    Returns:
        A reward with outcome [G].

    Raises:
        InputError: a weight below 0; while scoring, a task without labels of steps.

    Example:
        correct with p 0.8 and support, weights 0.1 and 0.2  ->  1 - 0.0223 + 0.2 = 1.1777;
        incorrect with p(gold) 0.2, no support  ->  -0.1609

    Paper: arXiv:2510.06217 (TaTToo), the reward of its second stage.
    Unconfirmed: both weights, and the mean over steps.
    Differs: a missing label has the probability 0.01.
    """
    if min(calibration, tools) < 0:
        raise InputError(f"weights of calibration and tools are {calibration:g} and {tools:g}; give 0 or more")
    return outcome(lambda one: float(np.mean(step_rewards(one, calibration=calibration, tools=tools))))


def step_rewards(one: Trajectory, *, calibration: float, tools: float) -> np.ndarray:
    """Compute s_i of every step; see `verification_reward`.

    Returns:
        [L] float64.
    """
    gold_L = one.task.metadata.get("labels", ())
    found = read_verdicts(one)
    support_L = supports(one, [grounded_call(step["check"]) for step in one.task.metadata["steps"]])
    return np.array(
        [
            float(verdict is not None and verdict.label == gold)
            + calibration * math.log(gold_probability(verdict, gold))
            + tools * support
            for verdict, gold, support in zip(found, gold_L, support_L, strict=True)
        ],
        np.float64,
    )
