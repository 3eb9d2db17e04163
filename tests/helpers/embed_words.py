"""Vectors of texts by their words, for tests of memories."""

import numpy as np

from handaxe.ops.seeds import derive_seed

WIDTH = 64


def embed_words(texts):
    """Return the normalised sum of a fixed random vector per word; a text without words has a vector of its own."""
    rows = []
    for text in texts:
        words = text.split() or [""]
        total = sum(np.random.default_rng(derive_seed("word", word)).normal(size=WIDTH) for word in words)
        rows.append(total / np.linalg.norm(total))
    return np.array(rows)
