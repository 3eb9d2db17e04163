"""Return-to-go credit: discounted rewards from each step on."""

from typing import Literal

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Credit
from handaxe.core.records import Advantages, Group, Scores
from handaxe.ops import returns
from handaxe.ops.ragged import scatter, token_rewards, token_turn_indices

__all__ = ["return_to_go"]


def return_to_go(*, gamma: float = 1.0, unit: Literal["token", "turn"] = "turn", baseline: float = 0.0) -> Credit:
    """Give every sampled token the discounted sum of the rewards from its step on.

        G_s = sum_{u >= s} gamma^(u - s) * r_u        A_i,t = G_s(t) - b        for sampled tokens t
                                                      A_i,t = 0                 for all others

    A step s is a turn, and all its tokens get G of the turn; or a token, with the reward of a turn at its last token.
    The outcome is added to the last step. Prompt, template and tool tokens are no steps, so a long tool reply causes no
    discount.

    Args:
        gamma: discount, in [0, 1], per step.
        unit: the step, "token" or "turn".
        baseline: b, in units of reward; the expected gradient is the same for any constant.

    Returns:
        A credit: (Group, Scores) -> Advantages, [T] for each sequence. Siblings are independent of each other; an
        unscored one (outcome NaN) gets zeros.

    Raises:
        InputError: a gamma outside [0, 1], an unknown unit, scores that do not fit the group or are infinite.

    Example:
        turns of 2 and 1 tokens with rewards 0.5 and 0, outcome 1, gamma 0.9:
        by turn   0.5 + 0.9 * 1 = 1.4, 1.4, then 1
        by token  0.9 * (0.5 + 0.9 * 1) = 1.26, 1.4, then 1

    Idea: reward-to-go in the policy gradient theorem (Sutton et al., 1999); per turn, as is usual for multi-turn
    agents.
    """
    if not 0 <= gamma <= 1 or unit not in ("token", "turn"):
        raise InputError(f"return_to_go takes a gamma in [0, 1] and the unit token or turn, not {gamma}, {unit!r}")

    def credit(group: Group, scores: Scores) -> Advantages:
        tokens = []
        for trajectory, own, outcome in zip(group, token_rewards(group, scores, turns=unit == "turn"), scores.outcome):
            value = returns.discounted_returns(own, gamma) - (0.0 if np.isnan(outcome) else baseline)
            tokens.append(scatter(trajectory, value[token_turn_indices(trajectory)] if unit == "turn" else value))
        return Advantages(tuple(tokens))

    return credit
