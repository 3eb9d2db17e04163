"""Tool Document Weighted Average: vectors of tools as weighted means of the vectors of their parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isclose

import numpy as np

from handaxe.core.errors import InputError
from handaxe.worlds.toolbox.live_index import DocumentVectors, TextVectors
from handaxe.worlds.toolbox.tool_documents import FIELDS, ToolDocument

__all__ = ["weighted_average", "weighted_vectors"]


def weighted_average(parts_PD: np.ndarray, weights: Sequence[float]) -> np.ndarray:
    """Average the vectors of a document's parts, and scale the result to length 1.

        v = sum_p w_p e_p / || sum_p w_p e_p ||

    Args:
        parts_PD: e_p, vectors of P parts, [P, D].
        weights: w_p >= 0, with sum 1.

    Returns:
        [D]; zeros if the sum vanishes.

    Raises:
        InputError: weights that are negative, have another sum, or do not fit the parts.

    Example:
        e = [1, 0], [0, 1], [0.6, 0.8] and w = 0.2, 0.3, 0.5  ->  [0.5, 0.7] / 0.8602 = [0.5812, 0.8137]

    Paper: arXiv:2505.06416 (ScaleMCP), TDWA.
    Differs: nothing known.
    """
    if len(parts_PD) != len(weights) or min(weights) < 0 or not isclose(sum(weights), 1.0, abs_tol=1e-9):
        raise InputError(f"{len(parts_PD)} parts take as many weights from 0, with sum 1; they are {list(weights)}")
    total_D = np.asarray(weights, dtype=np.float64) @ parts_PD
    length = float(np.linalg.norm(total_D))
    return total_D / length if length else total_D


def weighted_vectors(vectors: TextVectors, weights: Mapping[str, float]) -> DocumentVectors:
    """Embed documents by `weighted_average` of their fields; questions count by the mean of their vectors.

    A document without text in a field shares the weight among its other fields, in proportion.

    Args:
        vectors: of texts.
        weights: field -> w, with sum 1; fields without weight are not read.

    Raises:
        InputError: an unknown field, or bad weights.

    Example:
        weights name 0.2, description 0.3, questions 0.5; a document without questions has name 0.4, description 0.6

    Paper: arXiv:2505.06416 (ScaleMCP), TDWA of name, description, arguments and questions.
    Differs: the shares of empty fields.
    """
    if unknown := set(weights) - set(FIELDS):
        raise InputError(f"a tool document has the fields {', '.join(FIELDS)}, not {sorted(unknown)}")

    def embed(documents: Sequence[ToolDocument]) -> np.ndarray:
        return np.stack([_embed(vectors, weights, one) for one in documents]).astype(np.float32)

    return embed


def _embed(vectors: TextVectors, weights: Mapping[str, float], document: ToolDocument) -> np.ndarray:
    parts, shares = [], []
    for field, weight in weights.items():
        part = document[FIELDS.index(field) + 1]
        texts = [text for text in ([part] if isinstance(part, str) else part) if text.strip()]
        if texts and weight:
            parts.append(vectors(texts).astype(np.float64).mean(axis=0))
            shares.append(weight)
    return weighted_average(np.stack(parts), [share / sum(shares) for share in shares])
