"""Similarity and bands."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.papers.astra.distractors import draw_distractors, trigram_similarity
from handaxe.papers.astra.environment import OLD, tool_texts

TEXTS = st.text("abcd ", max_size=20)


@given(TEXTS, TEXTS)
def test_similarity_is_that_of_a_slow_loop(left, right):
    grams = sorted({text[k : k + 3] for text in (left, right) for k in range(len(text) - 2)})
    a, b = ([sum(text[k : k + 3] == gram for k in range(len(text) - 2)) for gram in grams] for text in (left, right))
    norm = math.sqrt(sum(n * n for n in a)) * math.sqrt(sum(n * n for n in b))
    expected = sum(x * y for x, y in zip(a, b, strict=True)) / norm if norm else 0.0
    assert trigram_similarity(left, right) == pytest.approx(expected, abs=1e-12)
    assert trigram_similarity(left, right) == pytest.approx(trigram_similarity(right, left))


def test_similarity_of_the_example():
    assert trigram_similarity("abcd", "abce") == pytest.approx(0.5) and trigram_similarity("ab", "ab") == 0


def test_a_tool_of_each_band_is_drawn():
    texts = tool_texts()
    for needed in (["town"], ["mayor", "port"]):
        high, middle, low = draw_distractors(needed, texts, random.Random(0))
        assert high in [f"{one}{OLD}" for one in needed] and low in ("alarm", "clock", "dice")
        score = max(trigram_similarity(texts[one], texts[middle]) for one in needed)
        assert 0.4 <= score <= 0.85 and middle not in needed


def test_counts_of_bands_are_limits():
    found = draw_distractors(["town"], tool_texts(), random.Random(0), counts=(5, 0, 2))
    assert found[0] == f"town{OLD}" and len(found) == len(set(found)) and set(found[1:]) <= {"alarm", "clock", "dice"}
    assert draw_distractors(["town"], tool_texts(), random.Random(0), counts=(0, 0, 0)) == []


def test_wrong_input():
    with pytest.raises(InputError, match="have no document"):
        draw_distractors(["nowhere"], tool_texts(), random.Random(0))
    with pytest.raises(InputError, match="low <= high"):
        draw_distractors(["town"], tool_texts(), random.Random(0), low=0.9, high=0.5)
