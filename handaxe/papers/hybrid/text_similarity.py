"""Rewards an answer by how near its meaning is to that of a reference answer."""

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
"""Characters of a text that are encoded, and kept."""
KEPT = 4096
"""Texts whose vectors are kept: siblings and steps say the same again."""


def text_similarity(
    *, encode: Callable[[Sequence[str]], np.ndarray], extract: Callable[[Trajectory], str] = final_text
) -> Reward:
    """Give the cosine of the vectors of an answer and the nearest reference answer.

        R_i = max(0, max over golds of e(said_i) . e(gold))        e: 4000 characters at most -> vector of length 1

    A stand-in for a learned reward model that needs no training. It is fooled by what looks alike: a number that is
    wrong in one digit is almost right to it.

    Args:
        encode: texts -> [N, D] vectors of any length, such as `tools.index.dense.embed`; one of zeros is like nothing.
            Each text is handed over alone, since its vector may depend on its company in the last decimals.
        extract: what the answer text is.

    Returns:
        A reward with outcome [G] in [0, 1]. No turn, or an empty answer: 0.

    Raises:
        TaskError: the task has no answer. InputError: `encode` gives no vector of finite numbers. Whatever `encode`
        raises, such as an InputError for a missing package.

    Example:
        vectors said (0.6, 0.8), gold (1, 0)  ->  0.6;  said (-1, 0)  ->  0

    Paper: arXiv:2510.05283 (Beyond Monolithic Rewards), the embedding-based surrogate of a reward model.
    Unconfirmed: which similarity; the abstract alone was read.
    Differs: nothing known.
    """

    @lru_cache(maxsize=KEPT)
    def vector(text: str) -> np.ndarray:
        found = np.asarray(encode([text])[0], np.float64)
        if found.ndim != 1 or not np.isfinite(found).all():
            raise InputError(f"encode gave {found!r:.60} for a text; give one row of finite numbers a text, [N, D]")
        return found / (np.linalg.norm(found) or 1.0)

    def score(trajectory: Trajectory) -> float:
        said = extract(trajectory)[:LONGEST]
        if not said:
            return 0.0
        cosine = max(float(vector(said) @ vector(gold[:LONGEST])) for gold in gold_answers(trajectory.task))
        return min(1.0, max(0.0, cosine))

    return outcome(score)
