"""Means of a measure over the tokens of each conversation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from handaxe.core.protocols import Engine
from handaxe.core.records import Author, Trajectory
from handaxe.training.loop.batch import Row, pad

__all__ = ["token_means"]


def token_means(
    engine: Engine, conversations: Sequence[Trajectory], *, name: str, author: Author | None = None
) -> np.ndarray:
    """Compute the mean of a measure over the tokens of each conversation.

        mean_n = sum over tokens t >= 1 of m_t / number of these tokens

    The head of a reward model is linear, so that the mean of its scores is the score of the mean state.

    Args:
        engine: with the measure, at temperature 1.
        conversations: N, with any number of sequences.
        name: of the measure, such as "logp" or "head/reward".
        author: of the tokens; None for all authors.

    Returns:
        [N] float64; 0 for a conversation without such a token.

    Example:
        scores 0.3, 0.6 and -0.3 at the tokens after the first  ->  0.2

    Paper: arXiv:2310.01045 (Themis), ranking_way "mean" of its released code, with the head's measure.
    Differs: the first token is left out, whose state is the same in all conversations.
    """
    rows = [row for n, one in enumerate(conversations) for row in _rows(one, n, author)]
    total_N, count_N = np.zeros(len(conversations)), np.zeros(len(conversations))
    if rows:
        batch = pad(rows, pad_id=engine.pad_id)
        value_BT = engine.forward(batch, names=(name,))[name].double().numpy().reshape(*batch.mask_BT.shape)
        np.add.at(total_N, batch.rollout_B.numpy(), np.where(batch.mask_BT.numpy(), value_BT, 0.0).sum(1))
        np.add.at(count_N, batch.rollout_B.numpy(), batch.mask_BT.numpy().sum(1))
    return np.divide(total_N, count_N, out=np.zeros_like(total_N), where=count_N > 0)


def _rows(one: Trajectory, number: int, author: Author | None) -> list[Row]:
    found = list[Row]()
    for sequence in one.sequences:
        mask = np.ones(len(sequence), bool) if author is None else np.asarray(sequence.author == int(author), bool)
        mask[:1] = False
        if mask.any():
            found.append(Row(sequence, np.zeros(len(sequence)), 0, number, 1.0, mask=mask, images=one.images))
    return found
