from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.papers.icpl.preference_queries import preference_queries
from handaxe.selection.pairs.ordered import ordered
from handaxe.testing.make_records import make_group, make_rated, make_trajectory

CONTRACT = [{"pairs": ordered(), "queries": 3}]


def named(task, name):
    return SimpleNamespace(chosen=SimpleNamespace(task=SimpleNamespace(id=task)), name=name)


def test_preference_queries_match_the_example():
    own = {task: [named(task, name) for name in names] for task, names in (("A", "abc"), ("B", "de"))}
    for groups in (["A", "B"], ["B", "A"]):
        chosen = preference_queries(pairs=lambda given: own[given[0]], queries=4)(groups)
        assert [one.name for one in chosen] == ["a", "d", "b", "e"]
    assert len(preference_queries(pairs=lambda given: own[given[0]], queries=9)(["A", "B"])) == 5


@given(st.lists(st.integers(0, 4), max_size=5), st.integers(1, 12))
def test_preference_queries_equal_a_loop_over_places(sizes, queries):
    groups = [[named(g, (g, place)) for place in range(size)] for g, size in enumerate(sizes)]
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
