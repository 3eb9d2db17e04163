"""Rewards calls early in training, with a decreasing scale."""

from collections.abc import Callable

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Reward
from handaxe.core.records import Group, Scores
from handaxe.rewards.parts.checks import validate_scores

__all__ = ["annealed_calls"]


def annealed_calls(*, scale: float | Callable[[int], float], per_turn: float = 0.1, cap: float = 1.0) -> Reward:
    """Pay for every turn with a tool call, scaled by the training step.

        R_i = mu(step) * min(cap, per_turn * n_i)         n_i: turns of trajectory i with a well-formed call

    The paper's other form, in which a correct answer earns mu * [n_i > 0], is
    gate(on=correct, then=annealed_calls(scale=mu, per_turn=1.0), otherwise=annealed_calls(scale=mu)).

    Args:
        scale: mu; the paper's, training.loop.schedule.cosine(1.0, steps=200), falls from 1 to 0.
        per_turn: reward of a turn, >= 0; 0.1 in the paper.
        cap: largest reward before scaling, >= 0; 1 in the paper.

    Returns:
        A reward with outcome [G] in [0, cap * mu]. Add it to the main reward by `weighted`.

    Raises:
        InputError: a number out of range.

    Example:
        mu = cosine(1.0, steps=200): 1, 0.8536, 0.5, 0 at steps 0, 50, 100, 200; four turns with a call, step 50 ->
        0.3414

    Paper: arXiv:2509.22601 (SPEAR), intrinsic reward of tool calls. Differs: nothing.
    """
    if per_turn < 0 or cap < 0:
        raise InputError(f"annealed_calls has per_turn={per_turn} and cap={cap}; give numbers of 0 or more")

    def reward(group: Group) -> Scores:
        mu = scale(group.step) if callable(scale) else scale
        count_G = np.array([sum(bool(turn.parsed.calls) for turn in one.turns) for one in group], np.float64)
        earned_G = np.minimum(cap, per_turn * count_G)
        return validate_scores(Scores(mu * earned_G), group, "annealed_calls")

    return reward
