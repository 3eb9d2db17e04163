"""Preference as reward: the probability of a win against reference answers.

Kept: a bounded form of any reward model's score.
"""

from collections.abc import Callable

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Reward
from handaxe.core.records import Group, Scores, Task

__all__ = ["win_rate"]


def win_rate(*, score: Reward, references: Callable[[Task], np.ndarray], steepness: float = 1.0) -> Reward:
    """Compare the score of a rollout with the scores of reference answers to the task.

        R_i = mean over m of sigmoid(k (score_i - reference_m))

    R rises steeply at first and saturates, so that a score far above the references adds nothing.

    Args:
        score: a reward whose outcome is compared, such as `judged`.
        references: task -> scores [M], M >= 1, of answers of the first policy by the same scorer.
        steepness: k, > 0.

    Returns:
        A reward between 0 and 1; an unscored rollout (NaN) stays unscored. The channel "score" has the compared score.

    Raises:
        InputError: a steepness of 0 or less, or no reference for a task.

    Example:
        score 2, references 1, 2, 4  ->  (0.7311 + 0.5 + 0.1192) / 3 = 0.4501

    Paper: arXiv:2502.18770 (PAR), Eq. of the preference as reward.
    Differs: nothing.
    """
    if not steepness > 0:
        raise InputError(f"steepness is {steepness}; give more than 0")

    def reward(group: Group) -> Scores:
        found = score(group)
        reference_M = np.asarray(references(group.task), np.float64)
        if not len(reference_M):
            raise InputError(f"task {group.task.id!r} has no reference answer to compare with")
        value_G = np.asarray(found.outcome, np.float64)
        gap_GM = steepness * (value_G[:, None] - reference_M[None, :])
        won_G = (1 / (1 + np.exp(-gap_GM))).mean(1)
        return Scores(won_G, channels={**found.channels, "score": value_G}, eligible=found.eligible)

    return reward
