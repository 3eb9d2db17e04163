"""BM25 by hand: variant, constants and idf."""

import math
from collections import Counter

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.tools.index.lexical import Lexical, tokenize_words, write_lexical

pytest.importorskip("bm25s")
TEXTS = ["a cat sat", "a dog", "a cat and a cat"]


def test_bm25_gives_the_examples(tmp_path):
    assert tokenize_words("The Cat's 2 hats") == ["cat", "s", "2", "hats"]
    write_lexical(TEXTS, tmp_path)
    scores = Lexical(tmp_path).scores("cat")
    np.testing.assert_allclose(scores, [math.log(1.6) / 2.725, 0, math.log(1.6) * 2 / 3.725], atol=1e-6)
    np.testing.assert_allclose(scores, [0.172478, 0, 0.252351], atol=1e-6)


def slow_bm25(texts, query, k1, b):
    lists = [tokenize_words(text) for text in texts]
    mean = sum(map(len, lists)) / len(lists)
    scores = []
    for found in lists:
        score, counts = 0.0, Counter(found)
        for word in tokenize_words(query):
            n = sum(word in other for other in lists)
            idf = math.log(1 + (len(lists) - n + 0.5) / (n + 0.5))
            score += idf * counts[word] / (counts[word] + k1 * (1 - b + b * len(found) / mean)) if n else 0.0
        scores.append(score)
    return scores


@pytest.mark.parametrize(("k1", "b"), [(1.5, 0.75), (0.9, 0.4), (1.2, 0.0), (2.0, 1.0)])
def test_bm25_equals_a_slow_loop(tmp_path, k1, b):
    texts = ["red fox red", "blue fox", "green", "red blue green fox hen", "hen hen hen hen"]
    write_lexical(texts, tmp_path, k1=k1, b=b)
    lexical = Lexical(tmp_path)
    for query in ("fox", "red hen", "hen hen", "fox unknown red", "unknown", "", "the of"):
        np.testing.assert_allclose(lexical.scores(query), slow_bm25(texts, query, k1, b), atol=1e-6)
    assert len(lexical) == 5


def test_tokenize_words_handles_other_scripts():
    assert tokenize_words("\uff26\uff4f\uff58 STRASSE Stra\u00dfe \u00c9t\u00e9 \u6771\u4eac") == [
        "fox", "strasse", "strasse", "\u00e9t\u00e9", "\u6771\u4eac",
    ]  # fmt: skip


def test_files_are_reproducible(tmp_path):
    for name in "ab":
        (tmp_path / name).mkdir()
        write_lexical(TEXTS, tmp_path / name)
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()


def test_invalid_input_raises(tmp_path):
    with pytest.raises(InputError, match="no document has a word"):
        write_lexical(["...", "the"], tmp_path)
    for k1, b in ((-1, 0.5), (1, 1.5), (float("nan"), 0.5)):
        with pytest.raises(InputError, match="k1 and b are"):
            write_lexical(TEXTS, tmp_path, k1=k1, b=b)
