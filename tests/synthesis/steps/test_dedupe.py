"""Repeated and similar tasks."""

import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.core.records import Message, Task
from handaxe.synthesis.step import SynthesisContext
from handaxe.synthesis.steps.dedupe import dedupe, minhash, normal_words
from handaxe.synthesis.task_drafts import task_draft


def draft(text, number=0):
    return task_draft(Task("", (Message("user", text),), "a"), parents=(str(number),))


def reasons(texts, *, earlier=(), **options):
    at = SynthesisContext(0, tuple(draft(text, -1) for text in earlier))
    outcomes = dedupe(**options).run([draft(text, n) for n, text in enumerate(texts)], at)
    return [one.reason for one in outcomes]


def test_equal_words_are_repeated_and_other_numbers_are_not():
    texts = ["What is 3+4?", "what is  3 + 4", "What is 3-4?", "4071 boss?", "4071 ally?"]
    assert reasons(texts) == ["", "repeated", "", "", ""]
    assert reasons(texts[:1], earlier=texts[1:2]) == ["repeated"]


LONG = "Anna has twelve apples and gives five of them to her brother Tom on a rainy Monday morning in the old town"


def test_long_texts_with_a_changed_word_are_similar():
    other = "The train to the coast leaves at nine and needs two hours and a half for the whole way along the river"
    texts = [LONG, f"{LONG} indeed", other]
    assert reasons(texts, similarity=0.7) == ["", "similar", ""]
    assert reasons(texts, similarity=1.1) == ["", "", ""]


@given(
    st.lists(st.sampled_from("abcdefg"), min_size=4, max_size=30),
    st.lists(st.sampled_from("abcdefg"), min_size=4, max_size=30),
)
def test_equal_minima_estimate_the_jaccard_similarity(left, right):
    """Slow twin: sets of shingles. 512 hash functions have a standard error below 0.023."""
    sets = [{tuple(one[k : k + 3]) for k in range(len(one) - 2)} for one in (left, right)]
    jaccard = len(sets[0] & sets[1]) / len(sets[0] | sets[1])
    assert abs((minhash(left, 512) == minhash(right, 512)).mean() - jaccard) < 0.12


def test_minima_are_those_of_a_slow_loop():
    rng, prime = np.random.default_rng(0), 2**31 - 1
    scale, shift = rng.integers(1, prime, 4), rng.integers(0, prime, 4)
    xs = [zlib.crc32(one) % prime for one in (b"a b c", b"b c d")]
    slow = [min((int(a) * x + int(b)) % prime for x in xs) for a, b in zip(scale, shift, strict=True)]
    assert minhash(["a", "b", "c", "d"], 4).tolist() == slow


def test_words_have_no_case_and_keep_operators():
    assert normal_words("What is 3+4?") == ["what", "is", "3", "+", "4"]


@pytest.mark.parametrize("options", [{"similarity": 0.0}, {"hashes": 10, "bands": 3}, {"bands": 0}])
def test_arguments_out_of_range(options):
    with pytest.raises(InputError, match="equal"):
        dedupe(**options)
