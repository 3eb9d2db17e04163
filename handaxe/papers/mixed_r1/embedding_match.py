"""Bidirectional similarity of token embeddings, a reward for open-ended text."""

from collections.abc import Callable

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Reward
from handaxe.core.records import Trajectory
from handaxe.rewards.outcome import outcome
from handaxe.rewards.parts.extract import final_text
from handaxe.rewards.parts.reference import gold_answers

__all__ = ["bidirectional", "embedding_match"]

LONGEST = 4_000
"""Limit on the characters of an answer that are embedded: the similarity matrix grows with their number."""


def embedding_match(*, embed: Callable[[str], np.ndarray], extract: Callable[[Trajectory], str] = final_text) -> Reward:
    """Score an answer by BMAS: the mean of two averages of maximum similarities.

        S_ij = cos(answer_i, gold_j)            embeddings of the tokens of the answer (n) and of a reference (m)
        R    = (mean_i max_j S_ij + mean_j max_i S_ij) / 2;      the best over several references

    The first mean falls with every token unrelated to the reference, so that longer answers gain nothing; the second
    falls with every missing token of the reference. The order of tokens has no effect.

    Args:
        embed: text -> [n, D], one row a token, such as `models.embeddings`. A row of zeros has similarity 0.
        extract: trajectory -> answer text; the first 4000 characters count.

    Returns:
        A reward with outcome [G] in [-1, 1]. No turn, or an answer without a token: 0.

    Raises:
        InputError: `embed` returns no matrix.
        TaskError: the task has no answer.

    Example:
        S = [[1, 0.2], [0.5, 0.6], [0.1, 0.9]]: rows 1, 0.6, 0.9 -> 0.8333; columns 1, 0.9 -> 0.95; R = 0.8917

    Paper: arXiv:2505.24164 (Mixed-R1), BMAS.
    Unconfirmed: the formula, read off the name Bidirectional Max-Average Similarity.
    Differs: nothing known.
    """

    def table(text: str) -> np.ndarray:
        found = np.asarray(embed(text), dtype=np.float64)
        if found.ndim != 2:
            raise InputError(f"embed gave an array of shape {found.shape} for a text; give one row a token, [n, D]")
        return found

    def score(trajectory: Trajectory) -> float:
        golds = gold_answers(trajectory.task)
        answer = extract(trajectory)[:LONGEST]
        if not answer:
            return 0.0
        answer_nD = table(answer)
        return max(bidirectional(_cosines(answer_nD, table(gold))) for gold in golds)

    return outcome(score)


def bidirectional(similarity_nm: np.ndarray) -> float:
    """Mean of the row maxima and mean of the column maxima, averaged; 0 for an empty matrix.

    Example:
        [[1, 0.2], [0.5, 0.6], [0.1, 0.9]] -> 0.8917
    """
    if not similarity_nm.size:
        return 0.0
    return float((similarity_nm.max(1).mean() + similarity_nm.max(0).mean()) / 2)


def _cosines(answer_nD: np.ndarray, gold_mD: np.ndarray) -> np.ndarray:
    return _unit(answer_nD) @ _unit(gold_mD).T


def _unit(rows_nD: np.ndarray) -> np.ndarray:
    length_n = np.linalg.norm(rows_nD, axis=1, keepdims=True)
    return np.divide(rows_nD, length_n, out=np.zeros_like(rows_nD), where=length_n > 0)
