"""Read-only search index on disk, for any number of rollouts and threads."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, NamedTuple

from handaxe.core.errors import InputError
from handaxe.tools.index.dense import MODEL, Dense
from handaxe.tools.index.documents import Passage
from handaxe.tools.index.fusion import reciprocal_rank_fusion, top_scores
from handaxe.tools.index.lexical import Lexical
from handaxe.tools.index.manifest import Manifest, check_files, read_manifest
from handaxe.tools.index.passages import Passages

__all__ = ["Hit", "Index", "Way", "open_index"]

Way = Literal["bm25", "dense", "hybrid"]
DEPTH = 100
"""Places of each ranking that count in the hybrid ranking."""


class Hit(NamedTuple):
    """Found passage with its score."""

    passage: Passage
    score: float


class Index:
    """Open index, immutable and thread-safe; see `open_index`."""

    def __init__(self, manifest: Manifest, passages: Passages, lexical: Lexical, dense: Dense | None):
        self.manifest = manifest
        self.passages = passages
        self.lexical = lexical
        self.dense = dense

    def rank(self, query: str, count: int, *, way: Way) -> list[Hit]:
        """Rank the passages by a query.

            bm25     by common words; only passages with a common word
            dense    by cosine similarity of embeddings; always `count` passages, if there are that many
            hybrid   reciprocal rank fusion (constant 60) of the first 100 places of both

        Passages with equal scores (to six decimals) are ordered by id and page.

        Args:
            query: any text; empty text finds nothing.
            count: most passages, >= 0.
            way: bm25, dense or hybrid.

        Raises:
            InputError: an unknown way, or an index without embeddings.
        """
        if way not in ("bm25", "dense", "hybrid"):
            raise InputError(f"there is no way {way!r} to search; there are bm25, dense and hybrid")
        if way != "bm25" and self.dense is None:
            raise InputError(f"the index has no embeddings, which {way!r} needs: build it with dense=True, or use bm25")
        if not query.strip():
            return []
        if way == "bm25" or self.dense is None:
            found = top_scores(self.lexical.scores(query), count, above=0.0)
        elif way == "dense":
            found = top_scores(self.dense.scores(query), count, above=-2.0)
        else:
            by_words = top_scores(self.lexical.scores(query), DEPTH, above=0.0)
            by_meaning = top_scores(self.dense.scores(query), DEPTH, above=-2.0)
            rankings = [[number for number, _ in ranking] for ranking in (by_words, by_meaning)]
            found = reciprocal_rank_fusion(rankings)[:count]
        return [Hit(self.passages[number], score) for number, score in found]

    def page(self, document: str, page: int) -> Passage | None:
        """Return a page of a document; a page below 1 is the first, a page beyond the last is the last; None for an
        unknown id."""
        first = self.passages.find(document)
        if first is None:
            return None
        return self.passages[first + min(max(page, 1), self.passages[first].pages) - 1]


def open_index(folder: str | Path) -> Index:
    """Open the index that `build_index` made in `folder`.

    Every file is compared with its digest, which reads it once; then arrays and passages are memory-mapped.

    Raises:
        InputError: the index is missing, damaged, of another format, or of another embedding model.
    """
    folder = Path(folder)
    for attempt in range(3):
        manifest = read_manifest(folder)
        try:
            return _open(folder, manifest)
        except FileNotFoundError as error:
            # A new index may have been built between the two reads; else a file is missing.
            if attempt == 2 or read_manifest(folder).data == manifest.data:
                raise InputError(
                    f"the index lacks a file ({error}): delete {str(folder)!r} and build it again"
                ) from None
    raise AssertionError("unreachable")


def _open(folder: Path, manifest: Manifest) -> Index:
    model = manifest.settings.get("model")
    if model not in (None, MODEL):
        raise InputError(f"the index was built with {model!r}, here is {MODEL!r}: build it again")
    check_files(folder, manifest)
    data = folder / manifest.data
    passages = Passages(data)
    lexical = Lexical(data)
    dense = Dense(data) if model else None
    sizes = {len(passages), len(lexical), manifest.passages} | ({len(dense)} if dense else set())
    if len(sizes) != 1:
        raise InputError(f"the parts of the index in {str(folder)!r} differ in size ({sizes}): build it again")
    return Index(manifest, passages, lexical, dense)
