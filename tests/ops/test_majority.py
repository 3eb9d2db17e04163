from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from handaxe.ops.majority import Vote, majority


def test_majority_matches_its_example():
    assert majority(["7", "9", "7", "", "8"]) == Vote("7", 0.4)
    assert majority(["", ""]) == majority([]) == Vote("", 0.0)


@given(st.lists(st.sampled_from(["", "a", "b", "c"]), max_size=8))
def test_majority_matches_a_slow_loop(answers):
    best, most = "", 0
    for one in "abc":
        count = sum(answer == one for answer in answers)
        if count > most:
            best, most = one, count
    assert majority(answers) == Vote(best, most / len(answers) if answers and most else 0.0)


def test_the_majority_does_not_depend_on_the_order():
    for order in permutations(["b", "a", "b", "a", ""]):
        assert majority(order) == Vote("a", 0.4)
