"""Withholds a reward from long answers."""

from collections.abc import Callable

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Reward
from handaxe.core.records import Group, Scores, Trajectory
from handaxe.rewards.parts.checks import call_score, outcome_only
from handaxe.rewards.parts.combined import Combined
from handaxe.rewards.parts.extract import final_text

__all__ = ["within_length"]


def within_length(
    *, reward: Reward, characters: int = 1000, otherwise: float = 0.0, extract: Callable[[Trajectory], str] = final_text
) -> Reward:
    """Give a reward to rollouts with a short answer, and a fixed number to others.

        R_i = reward_i   if len(extract(trajectory_i)) < characters,   else otherwise

    It excludes answers that list everything, which a lenient comparison accepts.

    Args:
        reward: of a short answer.
        characters: length from which on an answer is too long, 1 or more; 1000 in DeepEyes, 300 in DeepEyesV2.
        otherwise: reward of a long answer.
        extract: the answer text of a trajectory.

    Returns:
        A reward with outcome [G]; the channel "reward" has the reward without the limit.

    Raises:
        InputError: characters below 1, or a reward with per-turn values.

    Example:
        reward (1, 1), answers of 999 and 1000 characters  ->  (1, 0)

    Paper: arXiv:2505.14362 (DeepEyes), from its released code.
    Differs: DeepEyes also counts a long answer as a format error. For that, wrap the sum of both parts, with the cost
        of the error as `otherwise`.
    """
    if characters < 1:
        raise InputError(f"characters is {characters}; give 1 or more")

    def merge(group: Group, parts: dict[str, Scores]) -> Scores:
        worth = outcome_only(parts["reward"], "reward").outcome
        short = np.array([len(call_score(extract, one)) < characters for one in group])
        return Scores(np.where(short, worth, otherwise))

    return Combined({"reward": reward}, merge)
