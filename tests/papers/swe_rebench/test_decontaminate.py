import pytest

from handaxe.core.errors import InputError
from handaxe.papers.swe_rebench.decontaminate import known_version, ngram_overlap, ngrams


def test_ngrams_of_tokens():
    assert ngrams("a + b", 2) == {("a", "+"), ("+", "b")} == ngrams("a+b", 2)
    assert ngrams("a", 2) == {("a",)} and ngrams(" \n", 2) == set()


def test_overlap_equals_a_number_by_hand_and_a_loop():
    corpus = ngrams("a + b", 2)
    assert ngram_overlap("a + b - c", corpus, size=2) == 0.5
    text = "for x in y: x = f(x, y) + f(y, x)"
    known = list(ngrams("f(x, y) + g", 3))
    tokens = ["for", "x", "in", "y", ":", "x", "=", "f", "(", "x", ",", "y", ")", "+", "f", "(", "y", ",", "x", ")"]
    distinct = []
    for start in range(len(tokens) - 2):
        if tuple(tokens[start : start + 3]) not in distinct:
            distinct.append(tuple(tokens[start : start + 3]))
    share = sum(one in known for one in distinct) / len(distinct)
    assert 0 < share < 1 and ngram_overlap(text, known, size=3) == pytest.approx(share, abs=1e-12)
    assert ngram_overlap(text, ngrams(text, 3), size=3) == 1.0 and ngram_overlap("", corpus, size=2) == 0.0


@pytest.mark.parametrize(
    "package, version, known",
    [("toolz", "1.10.0", False), ("toolz", "1.9.2", True), ("toolz", "1.9", True), ("networkx", "0.1", False)],
)
def test_versions_are_compared_as_numbers(package, version, known):
    assert known_version(package, version, {"toolz": "1.9.2"}) is known


def test_bad_arguments_raise():
    with pytest.raises(InputError, match="has no number"):
        known_version("toolz", "dev", {"toolz": "1.0"})
    with pytest.raises(InputError, match="1 token or more"):
        ngrams("a", 0)
