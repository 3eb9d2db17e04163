"""Changing index of tools in memory: BM25, dense and hybrid ranking."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

import numpy as np

from handaxe.core.errors import InputError
from handaxe.tools.index.fusion import reciprocal_rank_fusion, top_scores
from handaxe.tools.index.lexical import Lexical, write_lexical
from handaxe.worlds.toolbox.tool_documents import FIELDS, ToolDocument

__all__ = ["DocumentVectors", "LiveIndex", "TextVectors", "embedded_text"]

DEPTH = 100
"""Places of each ranking that count in the hybrid ranking."""
WAYS = ("bm25", "dense", "hybrid")
DocumentVectors = Callable[[Sequence[ToolDocument]], np.ndarray]
"""Documents -> vectors [N, D] of norm 1."""


class TextVectors:
    """Embeddings of texts, each computed once.

    Args:
        embed: texts -> vectors [N, D] of norm 1, such as `tools.index.dense.embed`.

    Attributes:
        computed: number of texts given to `embed`.
    """

    def __init__(self, embed: Callable[[Sequence[str]], np.ndarray]):
        self._embed = embed
        self._known: dict[str, np.ndarray] = {}
        self.computed = 0

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if new:
            self.computed += len(new)
            self._known.update(zip(new, self._embed(new), strict=True))
        return np.stack([self._known[text] for text in texts])


def embedded_text(vectors: TextVectors, fields: Sequence[str] = FIELDS) -> DocumentVectors:
    """Embed the joined text of a document's fields as a single vector."""
    return lambda documents: vectors([one.text(fields) for one in documents])


class LiveIndex:
    """Tools that can be added, replaced and removed at any time.

    Rankings hold names, best first; tools with equal scores to six decimals are in the order of their names.

    Args:
        vectors: embeds queries.
        fields: parts of a document that BM25 reads.
        document_vectors: embeds documents; None: the text of `fields`.

    Example:
        index = LiveIndex(TextVectors(embed)); index.put(documents); index.rank("area of a circle", 5, way="hybrid")
    """

    def __init__(
        self,
        vectors: TextVectors,
        *,
        fields: Sequence[str] = FIELDS,
        document_vectors: DocumentVectors | None = None,
    ):
        self._query_vectors = vectors
        self._fields = tuple(fields)
        self._document_vectors = document_vectors or embedded_text(vectors, fields)
        self._documents: dict[str, ToolDocument] = {}
        self._rows: dict[str, np.ndarray] = {}
        self._names: list[str] = []
        self._matrix_ND: np.ndarray | None = None
        self._lexical: Lexical | None = None

    def __len__(self) -> int:
        return len(self._documents)

    @property
    def documents(self) -> Mapping[str, ToolDocument]:
        """Name -> document."""
        return dict(self._documents)

    def put(self, documents: Sequence[ToolDocument]) -> None:
        """Add tools, or replace those with the same names. Vectors are computed at the next dense ranking."""
        for one in documents:
            self._documents[one.id] = one
            self._rows.pop(one.id, None)
        self._forget()

    def remove(self, names: Collection[str]) -> None:
        """Remove tools.

        Raises:
            InputError: an unknown name; nothing is removed.
        """
        if missing := sorted(set(names) - self._documents.keys()):
            raise InputError(f"the index has no tools {missing}")
        for name in names:
            del self._documents[name]
            self._rows.pop(name, None)
        self._forget()

    def rank(self, query: str, count: int, *, way: str = "hybrid") -> list[str]:
        """Rank the tools by a query.

        Args:
            query: any text; empty text finds nothing.
            count: most tools, >= 0.
            way: "bm25", only tools with a common word; "dense", by cosine; "hybrid", reciprocal rank fusion of the
                first 100 places of both.

        Raises:
            InputError: an unknown way.
        """
        if way not in WAYS:
            raise InputError(f"tools are ranked by {', '.join(WAYS)}, not by {way!r}")
        if not query.strip() or not self._documents:
            return []
        self._build()
        if way == "bm25":
            found = top_scores(self._words(query), count, above=0.0)
        elif way == "dense":
            found = top_scores(self._cosines(query), count, above=-2.0)
        else:
            both = (
                top_scores(self._words(query), DEPTH, above=0.0),
                top_scores(self._cosines(query), DEPTH, above=-2.0),
            )
            found = reciprocal_rank_fusion([[number for number, _ in own] for own in both])[:count]
        return [self._names[number] for number, _ in found]

    def similarities(self, query: str, names: Sequence[str]) -> np.ndarray:
        """Cosines of a query and tools, in the order of `names`: [N], -1 to 1."""
        self._build()
        places = [self._names.index(name) for name in names]
        return np.asarray(self._cosines(query)[places], dtype=np.float64)

    def _words(self, query: str) -> np.ndarray:
        if self._lexical is None:
            with tempfile.TemporaryDirectory() as folder:  # memory maps outlive the files
                write_lexical([self._documents[name].text(self._fields) for name in self._names], Path(folder))
                self._lexical = Lexical(Path(folder))
        return np.asarray(self._lexical.scores(query))

    def _cosines(self, query: str) -> np.ndarray:
        if self._matrix_ND is None:
            new = [name for name in self._names if name not in self._rows]
            if new:
                rows_ND = self._document_vectors([self._documents[name] for name in new])
                self._rows.update(zip(new, rows_ND, strict=True))
            self._matrix_ND = np.stack([self._rows[name] for name in self._names])
        return np.asarray(self._matrix_ND @ self._query_vectors([query])[0])

    def _build(self) -> None:
        if not self._names:
            self._names = sorted(self._documents)

    def _forget(self) -> None:
        self._names = []
        self._matrix_ND = None
        self._lexical = None
