import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.papers.icpl.preference_queries import num_queries, preference_queries
from handaxe.selection.pairs.ordered import ordered
from handaxe.testing.make_records import make_group, make_rated, make_trajectory


def test_preference_queries_match_the_example():
    own = {"A": ["a", "b", "c"], "B": ["d", "e"]}
    chosen = preference_queries(pairs=lambda groups: own[groups[0]], queries=4)
    assert chosen(["A", "B"]) == ["a", "d", "b", "e"]
    assert preference_queries(pairs=lambda groups: own[groups[0]], queries=9)(["A", "B"]) == ["a", "d", "b", "e", "c"]


@given(st.lists(st.integers(0, 4), max_size=5), st.integers(1, 12))
def test_preference_queries_equal_a_loop_over_places(sizes, queries):
    groups = [[(g, place) for place in range(size)] for g, size in enumerate(sizes)]
    looped = [group[place] for place in range(5) for group in groups if place < len(group)][:queries]
    assert preference_queries(pairs=lambda own: own[0], queries=queries)(groups) == looped


def rated(outcome):
    made = [make_trajectory(layouts=["Utp"], sample=i, id=str(i)) for i in range(len(outcome))]
    return make_rated(group=make_group(trajectories=made), outcome=outcome)


def test_preference_queries_limit_the_pairs_of_rollouts():
    groups = [rated([1.0, 0.0, 0.0]), rated([1.0, 1.0, 0.0])]
    all_pairs = ordered()(groups)
    assert len(all_pairs) == 4
    few = preference_queries(pairs=ordered(), queries=3)(groups)
    assert few == [all_pairs[0], all_pairs[2], all_pairs[1]]
    assert [one.strength for one in few] == [1.0] * 3


def test_no_query_is_an_error():
    with pytest.raises(InputError, match="queries is 0; give 1 or more"):
        preference_queries(pairs=ordered(), queries=0)


@pytest.mark.parametrize(("programs", "rounds", "expected"), [(6, 5, 49), (4, 3, 17), (2, 1, 1), (1, 1, 0)])
def test_num_queries_counts_comparisons(programs, rounds, expected):
    assert num_queries(programs, rounds) == expected
