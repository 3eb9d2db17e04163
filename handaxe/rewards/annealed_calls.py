"""Rewards calls at the beginning of training, less and less."""

from collections.abc import Callable

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Reward
from handaxe.core.records import Group, Scores
from handaxe.rewards.parts.checks import checked

__all__ = ["annealed_calls"]


def annealed_calls(*, scale: float | Callable[[int], float], each: float = 0.1, most: float = 1.0) -> Reward:
    """Pay for every turn that calls a tool, scaled down as training goes on.

        R_i = mu(step) * min(most, each * n_i)            n_i: turns of trajectory i with a well-formed call

    The paper's other form, in which a right answer earns mu * [n_i > 0], is
    gate(on=correct, then=annealed_calls(scale=mu, each=1.0), otherwise=annealed_calls(scale=mu)).

    Args:
        scale: mu; the paper's, training.loop.schedule.cosine(1.0, steps=200), falls from 1 to 0.
        each: earned by a turn, >= 0; 0.1 in the paper.
        most: >= 0; 1 in the paper.

    Returns:
        A reward with outcome [G] in [0, most * mu]. It is to be added to what it encourages: `weighted`.

    Raises:
        InputError: a number out of range.

    Example:
        mu = cosine(1.0, steps=200): 1, 0.8536, 0.5, 0 at steps 0, 50, 100, 200; four turns that call, step 50 -> 0.3414

    Paper: arXiv:2509.22601 (SPEAR), intrinsic reward of tool calls. Differs: nothing.
    """
    if each < 0 or most < 0:
        raise InputError(f"annealed_calls has each={each} and most={most}; give numbers of 0 or more")

    def reward(group: Group) -> Scores:
        mu = scale(group.step) if callable(scale) else scale
        count_G = np.array([sum(bool(turn.parsed.calls) for turn in one.turns) for one in group], np.float64)
        earned_G = np.minimum(most, each * count_G)
        return checked(Scores(mu * earned_G), group, "annealed_calls")

    return reward
