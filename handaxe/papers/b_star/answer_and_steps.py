"""Reward of a correct answer, and of its lowest step."""

from __future__ import annotations

from handaxe import rewards
from handaxe.core.protocols import Reward, StepJudge
from handaxe.papers.b_star.lowest_step import lowest_step

__all__ = ["SOUND", "answer_and_steps"]

SOUND = "sound"
"""Channel: 1 for a correct answer after correct steps."""


def answer_and_steps(*, right: Reward, rule: StepJudge, judge: StepJudge) -> Reward:
    """Reward a correct answer by 1, and add a fifth of the lowest score of a step.

        R_i = [answer correct] + 0.2 * min_n score_in

    Args:
        right: whether the answer is correct.
        rule: whether a step is correct; product of `right` and its lowest score is the channel "sound".
        judge: scores of steps.

    Returns:
        A reward with outcome [G] and the channels right, process and sound.

    Raises:
        InputError: a judge that scores no turns.

    Example:
        a correct answer after steps with scores 0.9 and 0.5  ->  1 + 0.2 * 0.5 = 1.1

    Paper: arXiv:2412.17256 (B-STaR), answer and process reward in one score of a rollout.
    Unconfirmed: the sum and its weights.
    Differs: nothing that is known.
    """
    sound = rewards.product({"right": right, "steps": lowest_step(judge=rule)})
    parts = {"right": (1.0, right), "process": (0.2, lowest_step(judge=judge)), SOUND: (0.0, sound)}
    return rewards.weighted(parts)
