"""Reward with a gated bonus for tool use."""

import numpy as np

from handaxe.core.protocols import Reward
from handaxe.core.records import Group, Scores
from handaxe.rewards.parts.checks import outcome_only
from handaxe.rewards.parts.combined import Combined
from handaxe.rewards.used_tools import used_tools

__all__ = ["tool_use_bonus"]

ROUNDING = 1e-9
USED = used_tools()


def tool_use_bonus(
    *, base: Reward, used: Reward = USED, share: float = 0.5, curiosity: float = 0.03, accurate: float = 0.5
) -> Reward:
    """Add a share of the score for tool use with an accurate answer, and a constant otherwise.

        R_i = base_i + tool_i
        tool_i = share * base_i   if used_i > 0 and base_i >= accurate
                 curiosity        if used_i > 0 and base_i < accurate,   else 0

    Args:
        base: score of the answer, 0 to 1.
        used: above 0 for rollouts that used tools.
        share: 0.5 in the paper.
        curiosity: 0.03 in the paper; independent of the score.
        accurate: minimum score of an accurate answer, up to rounding; 0.5 in the paper.

    Returns:
        A reward with outcome [G] and the channels "base" and "used".

    Raises:
        InputError: a reward with per-turn values.

    Example:
        scores 1, 1, 0.6, 0.4 with tools used in all but the second  ->  1.5, 1, 0.9, 0.43

    Paper: arXiv:2511.12908 (DeepSport), R_acc + R_tool.
    Differs: the format gate around both is a `ladder`.
    """

    def merge(_: Group, parts: dict[str, Scores]) -> Scores:
        score, looked = (outcome_only(parts[name], name).outcome for name in ("base", "used"))
        tool = np.where(score >= accurate - ROUNDING, share * score, curiosity)
        return Scores(score + np.where(looked > 0, tool, 0.0))

    return Combined({"base": base, "used": used}, merge)
