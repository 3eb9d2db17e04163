"""Vectors of texts by their counted words, for tests of rankings."""

import zlib

import numpy as np

from handaxe.tools.index.lexical import tokenize_words

WIDTH = 64


def count_words(texts):
    """Return normalised counts of words, a column by the word's hash; zeros for a text without words."""
    rows = np.zeros((len(texts), WIDTH), dtype=np.float32)
    for row, text in enumerate(texts):
        for word in tokenize_words(text):
            rows[row, zlib.crc32(word.encode()) % WIDTH] += 1
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
