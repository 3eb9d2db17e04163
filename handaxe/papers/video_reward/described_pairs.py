"""Pairs of edited drawings as features and qualities, for reward models.

Legend: P pairs, F features of picture and request, A qualities, 2 sides.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from handaxe.papers.video_reward.attribute_reward import AttributeReward
from handaxe.worlds.canvas.edit_features import edit_row
from handaxe.worlds.canvas.edits import edited_pairs

__all__ = ["DescribedPairs", "described_pairs"]


class DescribedPairs(NamedTuple):
    """Features and true qualities of both sides of pairs.

    input_P2F    of `edit_row`
    quality_P2A  0 to 1
    """

    input_P2F: np.ndarray
    quality_P2A: np.ndarray

    def margins(self, model: AttributeReward) -> np.ndarray:
        """[P, A] score of the first side less that of the second."""
        flat_NF = self.input_P2F.reshape(-1, self.input_P2F.shape[-1])
        score_P2A = model.scores(flat_NF).reshape(self.quality_P2A.shape)
        return np.asarray(score_P2A[:, 0] - score_P2A[:, 1])


def described_pairs(count: int, *, seed: int) -> DescribedPairs:
    """Draw pairs of edited drawings of all kinds of requests.

    Args:
        count: P.
        seed: of requests and edits.

    Example:
        count 3  ->  input_P2F [3, 2, 38], quality_P2A [3, 2, 3]

    Paper: arXiv:2501.13918 (VideoReward), pairs of videos of one prompt.
    Differs: edited drawings with known qualities.
    """
    made = edited_pairs(count, seed=seed)
    rows = [[edit_row(one.image, one.request) for one in pair] for pair in made]
    return DescribedPairs(np.array(rows), np.array([[one.qualities for one in pair] for pair in made]))
