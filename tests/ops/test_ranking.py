import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.ops.ranking import ndcg_at, recall_at, sufficiency_at

RANKING = (3, 1, 7, 2, 5)
rankings = st.permutations(range(8))
wanted = st.sets(st.integers(0, 9), min_size=1, max_size=5)


def test_measures_by_hand():
    """G = {3, 7} on places 1 and 3: DCG@3 = 1 + 1/2, ideal 1 + 1/log2(3) = 1.6309298, ratio 0.9197207."""
    assert [sufficiency_at(RANKING, {3, 7}, k) for k in (1, 2, 3, 9)] == [0, 0, 1, 1]
    assert [recall_at(RANKING, {3, 7}, k) for k in (1, 2, 3)] == [0.5, 0.5, 1]
    assert ndcg_at(RANKING, {3, 7}, 3) == pytest.approx(0.9197207891481876, abs=1e-9)
    assert ndcg_at("abc", {"c"}, 3) == pytest.approx(0.5, abs=1e-12)
    assert ndcg_at(RANKING, {3, 7}, 1) == 1


@given(rankings, wanted, st.integers(1, 12))
def test_ndcg_equals_slow_loop(ranking, relevant, k):
    gained = 0.0
    for place, item in enumerate(ranking):
        if place < k and item in relevant:
            gained += 1 / math.log2(place + 2)
    best = 0.0
    for place in range(min(k, len(relevant))):
        best += 1 / math.log2(place + 2)
    assert ndcg_at(ranking, relevant, k) == pytest.approx(gained / best, abs=1e-12)


@given(rankings, wanted, st.integers(1, 11))
def test_measures_are_shares_and_sufficiency_and_recall_grow_with_k(ranking, relevant, k):
    assert 0 <= ndcg_at(ranking, relevant, k) <= 1 + 1e-12
    assert recall_at(ranking, relevant, k) <= recall_at(ranking, relevant, k + 1)
    assert sufficiency_at(ranking, relevant, k) == (recall_at(ranking, relevant, k) == 1)


@pytest.mark.parametrize("ranking, relevant, k", [((1, 2), (), 1), ((1, 2), (1,), 0), ((1, 1), (1,), 1)])
def test_measures_reject_bad_input(ranking, relevant, k):
    for measure in (sufficiency_at, recall_at, ndcg_at):
        with pytest.raises(InputError, match="relevant|twice"):
            measure(ranking, relevant, k)
