import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.papers.toolshed.fuse_rankings import (
    cover_subqueries,
    fuse_variations,
    rerank_candidates,
    union_by_rank,
)

RANKINGS = st.lists(st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=6), max_size=4)


def test_variations_are_fused_by_reciprocal_ranks():
    assert fuse_variations([["a", "b"], ["b", "c"]]) == ["b", "a", "c"]
    assert fuse_variations([]) == []


def test_union_orders_by_the_best_rank():
    assert union_by_rank([["a", "c", "d"], ["b", "c", "e"]]) == ["a", "b", "c", "d", "e"]


@given(RANKINGS)
def test_union_equals_a_round_robin_without_duplicates(rankings):
    slow = []
    for place in range(6):
        for own in rankings:
            if place < len(own) and own[place] not in slow:
                slow.append(own[place])
    assert union_by_rank(rankings) == slow


def test_candidates_are_ranked_for_each_subquery():
    known = {"x": [0.2, 0.9], "y": [0.5, 0.1], "z": [0.3, 0.3]}
    found = rerank_candidates(["a", "b"], ["x", "y", "z"], lambda text, names: known[text])
    assert found == [["b", "a"], ["a", "b"], ["a", "b"]]


def test_uncovered_subqueries_replace_the_last_free_place():
    assert cover_subqueries(["a", "b", "c"], [["a", "b"], ["c", "a"]], 2) == ["a", "c"]
    assert cover_subqueries(["a", "b", "c"], [["a"], ["b"], ["c"]], 2) == ["a", "b"]
    assert cover_subqueries(["a"], [["a"], []], 3) == ["a"]
    with pytest.raises(InputError, match="1 tool"):
        cover_subqueries(["a"], [], 0)


@given(RANKINGS, st.integers(1, 6))
def test_choice_holds_the_best_tool_of_every_subquery_with_enough_places(rankings, count):
    union = union_by_rank(rankings)
    chosen = cover_subqueries(union, rankings, count)
    assert len(chosen) == min(count, len(union)) == len(set(chosen)) and set(chosen) <= set(union)
    best = list(dict.fromkeys(own[0] for own in rankings if own))
    assert set(best[:count]) <= set(chosen)
