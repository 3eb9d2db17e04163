"""Reward bonus with a positive weight on hard tasks and a negative weight on easy tasks."""

import math

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Reward
from handaxe.core.records import Group, Scores
from handaxe.rewards.parts.checks import outcome_only
from handaxe.rewards.parts.combined import Combined

__all__ = ["difficulty_bonus"]


def difficulty_bonus(
    *, base: Reward, bonus: Reward, correct: Reward | None = None, gamma: float = 4.0, beta: float = 0.2
) -> Reward:
    """Add a bonus times the difficulty of the task, estimated by the accuracy of the siblings.

        mu  = mean over siblings of correct_i
        d   = (1 + tanh(gamma (1/2 - mu))) / 2 - beta         above 0 on hard tasks, below on easy ones
        R_i = base_i + d bonus_i

    Tool calls pay on hard tasks and cost on easy ones, even if they ran well and the answer is correct.

    Args:
        base: reward without the bonus.
        bonus: bonus of a rollout, >= 0, and 0 without a call.
        correct: accuracy, 0 to 1; None for the base reward.
        gamma: slope of d, > 0; 4 in the released code.
        beta: offset of d, which is 1/2 - beta at accuracy 1/2; 0.2 in the released code, 0.1 in a variant. d is 0 at
            mu = 1/2 + atanh(1 - 2 beta) / gamma, which is 0.673 for 4 and 0.2.

    Returns:
        A reward with outcome [G] and the channels "base", "bonus" and, if given, "correct". A lone sibling is judged by
        its own accuracy; unscored siblings do not reach a reward.

    Raises:
        InputError: gamma is not above 0, or a reward has per-turn values.

    Example:
        gamma 4, beta 0.2: mu 0, 0.5, 0.75, 1  ->  d 0.782, 0.3, -0.081, -0.182
        base 1, bonus 1.5: 1.45 at mu 0.5, 0.727 at mu 1

    Paper: arXiv:2512.17312 (CodeDance), the sequence-level reward of its released code.
    Differs: nothing.
    """
    if not gamma > 0:
        raise InputError(f"difficulty_bonus has gamma={gamma}; give a number above 0")
    components = {"base": base, "bonus": bonus} | ({} if correct is None else {"correct": correct})

    def merge(group: Group, parts: dict[str, Scores]) -> Scores:
        del group
        values = {name: outcome_only(part, name).outcome for name, part in parts.items()}
        right_G = values.get("correct", values["base"])
        mu = math.fsum(right_G) / len(right_G)  # exact summation: independent of the order of siblings
        hard = (1 + np.tanh(gamma * (0.5 - mu))) / 2 - beta
        return Scores(values["base"] + hard * values["bonus"])

    return Combined(components, merge)
