"""Lexical ranking of passages: BM25, precomputed by bm25s."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from handaxe.core.errors import InputError

__all__ = ["Lexical", "tokenize_words", "write_lexical"]

FILES = {
    "data_name": "bm25_data.npy",
    "indices_name": "bm25_indices.npy",
    "indptr_name": "bm25_indptr.npy",
    "vocab_name": "bm25_vocabulary.json",
    "params_name": "bm25_settings.json",
}
WORD = re.compile(r"\w+")
STOP = frozenset(
    ("a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it", "no", "not", "of",
     "on", "or", "such", "that", "the", "their", "then", "there", "these", "they", "this", "to", "was", "will", "with")
)  # fmt: skip
"""Stop words, not indexed: Lucene's list for English."""


def tokenize_words(text: str) -> list[str]:
    """Split a text into words: runs of letters, digits and _ after NFKC and case folding, without STOP.

    Example:
        tokenize_words("The Cat's 2 hats") is ["cat", "s", "2", "hats"].
    """
    return [word for word in WORD.findall(unicodedata.normalize("NFKC", text).casefold()) if word not in STOP]


def write_lexical(texts: Sequence[str], folder: Path, *, k1: float = 1.5, b: float = 0.75) -> None:
    """Compute the BM25 score of every word in every text and write the scores to `folder`.

        score(q, d) = sum over the words w of q (repeats count) of idf(w) * tf / (tf + k1 * (1 - b + b * l / L))
        idf(w)      = ln(1 + (N - n + 0.5) / (n + 0.5))

    tf: occurrences of w in d; l: words of d; L: the mean of l; N: texts; n: texts with w. Words outside all texts count
    nothing. This is the "lucene" variant of bm25s, without the constant factor k1 + 1 of the textbook.

    Args:
        texts: N >= 1 texts.
        folder: exists.
        k1: >= 0; saturation of repetitions.
        b: 0 to 1; penalty of long texts.

    Raises:
        InputError: a constant out of range, no word in any text, or bm25s is not installed.

    Example:
        Of "a cat sat", "a dog", "a cat and a cat" the word "cat" scores ln(1.6) / 2.725 = 0.172478 in the first, 0 in
        the second and ln(1.6) * 2 / 3.725 = 0.252351 in the third (N 3, n 2, l 2, 1 and 2, L 5/3).
    """
    if not k1 >= 0 or not 0 <= b <= 1:
        raise InputError(f"k1 and b are {k1} and {b}; give k1 of 0 or more and b from 0 to 1")
    lists = [tokenize_words(text) for text in texts]
    vocabulary = {word: number for number, word in enumerate(sorted({word for found in lists for word in found}))}
    if not vocabulary:
        raise InputError("no document has a word in it, so nothing could be found")
    ids = [[vocabulary[word] for word in found] for found in lists]
    index = _bm25s().BM25(k1=k1, b=b, method="lucene", backend="numpy", csc_backend="numpy")
    index.index((ids, vocabulary), create_empty_token=False, show_progress=False)
    index.save(folder, show_progress=False, **FILES)


class Lexical:
    """Scores written by `write_lexical`, read-only and memory-mapped; thread-safe."""

    def __init__(self, folder: Path):
        self.index: Any = _bm25s().BM25.load(folder, mmap=True, show_progress=False, **FILES)

    def __len__(self) -> int:
        return int(self.index.scores["num_docs"])

    def scores(self, query: str) -> np.ndarray:
        """Compute the score of each text: [N], 0 for a text without a common word."""
        ids = self.index.get_tokens_ids(tokenize_words(query))
        if not ids:
            return np.zeros(len(self), dtype=np.float32)
        return self.index.get_scores_from_ids(ids)


def _bm25s() -> ModuleType:
    try:
        import bm25s
    except ImportError as error:
        raise InputError("searching by words needs bm25s: install handaxe[search]") from error
    return bm25s
