"""Cosine similarity of an answer's and a reference answer's embeddings."""

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Reward
from handaxe.core.records import Trajectory
from handaxe.rewards.outcome import outcome
from handaxe.rewards.parts.extract import final_text
from handaxe.rewards.parts.reference import gold_answers

__all__ = ["text_similarity"]

LONGEST = 4_000
"""Limit on the characters of a text that are encoded."""
KEPT = 4096
"""Texts whose vectors are kept: siblings and steps say the same again."""


def text_similarity(
    *, encode: Callable[[Sequence[str]], np.ndarray], extract: Callable[[Trajectory], str] = final_text
) -> Reward:
    """Score an answer by the cosine similarity to the nearest reference answer.

        R_i = max(0, max over golds of e(answer_i) . e(gold))        e: at most 4000 characters -> unit vector

    It stands in for a learned reward model and needs no training. Similar surface fools it: a number with one wrong
    digit scores almost 1.

    Args:
        encode: texts -> [N, D] vectors of any length, such as `tools.index.dense.embed`; a zero vector has similarity
            0. Each text is encoded alone, since batching may change the last decimals.
        extract: trajectory -> answer text.

    Returns:
        A reward with outcome [G] in [0, 1]. No turn, or an empty answer: 0.

    Raises:
        TaskError: the task has no answer.
        InputError: `encode` returns no vector of finite numbers. Errors of `encode` itself, such as an InputError for a
            missing package, pass through.

    Example:
        answer vector (0.6, 0.8), gold (1, 0)  ->  0.6;  answer vector (-1, 0)  ->  0

    Paper: arXiv:2510.05283 (Beyond Monolithic Rewards), the embedding-based surrogate of a reward model.
    Unconfirmed: the similarity measure; only the abstract was available.
    Differs: nothing known.
    """

    @lru_cache(maxsize=KEPT)
    def vector(text: str) -> np.ndarray:
        found = np.asarray(encode([text])[0], np.float64)
        if found.ndim != 1 or not np.isfinite(found).all():
            raise InputError(f"encode gave {found!r:.60} for a text; give one row of finite numbers a text, [N, D]")
        return found / (np.linalg.norm(found) or 1.0)

    def score(trajectory: Trajectory) -> float:
        answer = extract(trajectory)[:LONGEST]
        if not answer:
            return 0.0
        cosine = max(float(vector(answer) @ vector(gold[:LONGEST])) for gold in gold_answers(trajectory.task))
        return min(1.0, max(0.0, cosine))

    return outcome(score)
