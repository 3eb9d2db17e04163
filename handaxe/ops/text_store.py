"""Texts with vectors of length 1, searched by cosine: the retrieval part of memories of experience."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from handaxe.core.errors import InputError

__all__ = ["Embed", "Neighbour", "TextStore"]

Embed = Callable[[Sequence[str]], np.ndarray]
"""N texts -> [N, D] with rows of norm 1, such as `tools.index.dense.embed`."""
QUERIES = 65_536
"""Vectors that a store keeps of its queries."""


class Neighbour(NamedTuple):
    """Number of a stored text, and its cosine with the query."""

    number: int
    cosine: float


class TextStore:
    """Store of texts in the order of their addition.

        cosine(q, t) = <e(q), e(t)>     for vectors e of norm 1

    Args:
        embed: e; equal texts have equal vectors.

    Example:
        store = TextStore(embed); store.add("pending order"); store.nearest("order is pending", k=1) is
        [Neighbour(0, 0.9)] or similar

    Idea: retrieval by the cosine of sentence embeddings, as in most memories of agents.
    """

    def __init__(self, embed: Embed):
        self.texts: list[str] = []
        self._vectors: list[np.ndarray] = []
        self._vector = functools.lru_cache(maxsize=QUERIES)(lambda text: np.asarray(embed([text]), np.float64)[0])

    def __len__(self) -> int:
        return len(self.texts)

    def add(self, text: str) -> int:
        """Store a text; returns its number. Equal texts are stored again."""
        self.texts.append(text)
        self._vectors.append(self._vector(text))
        return len(self.texts) - 1

    def remove(self, numbers: Sequence[int]) -> None:
        """Remove texts; the numbers of later texts decrease.

        Raises:
            InputError: a number that no text has.
        """
        gone = set(numbers)
        if not gone <= set(range(len(self.texts))):
            raise InputError(f"a store of {len(self.texts)} texts has no {sorted(gone)}")
        kept = [n for n in range(len(self.texts)) if n not in gone]
        self.texts = [self.texts[n] for n in kept]
        self._vectors = [self._vectors[n] for n in kept]

    def vector(self, text: str) -> np.ndarray:
        """Return e(text): [D] float64."""
        return self._vector(text)

    def cosines(self, query: str) -> np.ndarray:
        """Compute the cosine with every stored text: [N] float64, -1 to 1."""
        return np.array([one @ self._vector(query) for one in self._vectors], np.float64)

    def nearest(self, query: str, *, k: int, least: float = -1.0) -> list[Neighbour]:
        """Return the k texts of the largest cosine, at least `least`; ties go to the newest text.

        Args:
            query: text.
            k: most neighbours, >= 0.
            least: smallest cosine.
        """
        cosine_N = self.cosines(query)
        order = sorted(range(len(cosine_N)), key=lambda n: (-cosine_N[n], -n))
        return [Neighbour(n, float(cosine_N[n])) for n in order[:k] if cosine_N[n] >= least]
