import pytest

from handaxe.papers.latm.dispatcher import dispatch, word_overlap


@pytest.mark.parametrize(
    "one, other, overlap",
    [
        ("sort a b", "sort a c", 0.5),
        ("gcd of 3, 4", "GCD of 8, 12", 1),
        ('count "x" in "y z"', 'count "a" in "b"', 1),
        ("", "", 0),
        ("a", "b", 0),
    ],
)
def test_overlap_is_the_jaccard_index_of_words(one, other, overlap):
    assert word_overlap(one, other) == word_overlap(other, one) == overlap


def test_questions_go_to_the_nearest_known_kind_or_are_new():
    known = {"gcd": ["gcd of 8, 12"], "lcm": ["lcm of 1, 2", "find the lcm of 3"]}
    assert dispatch("find the lcm of 9", known) == "lcm"
    assert dispatch("gcd of 3, 4", known) == "gcd"
    assert dispatch("spell cat", known) is None and dispatch("gcd of 3", {}) is None
    assert dispatch("gcd of 3", {"gcd": []}) is None
    assert dispatch("gcd in 3", known, threshold=0.4) is None and dispatch("gcd in 3", known, threshold=0.3) == "gcd"
