import zlib

import numpy as np
import pytest

from handaxe.tools.index.lexical import tokenize_words


@pytest.fixture
def embed():
    """Vectors of counted words."""

    def vectors(texts):
        rows = np.zeros((len(texts), 64), dtype=np.float32)
        for row, text in enumerate(texts):
            for word in tokenize_words(text):
                rows[row, zlib.crc32(word.encode()) % 64] += 1
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)

    return vectors
