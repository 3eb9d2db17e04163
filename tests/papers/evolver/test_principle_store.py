import numpy as np
import pytest
from helpers.embed_words import embed_words
from hypothesis import given
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.papers.evolver.principle_store import PrincipleStore, principle_score


@pytest.mark.parametrize("success, usage, score", [(3, 4, 2 / 3), (0, 3, 0.2), (0, 0, 0.5), (5, 5, 6 / 7)])
def test_score_by_hand(success, usage, score):
    assert principle_score(success=success, usage=usage) == pytest.approx(score)


@given(st.lists(st.booleans(), max_size=12))
def test_score_is_the_mean_with_one_success_and_one_failure_before(results):
    loop = np.mean([True, False, *results])
    assert principle_score(success=sum(results), usage=len(results)) == pytest.approx(loop, abs=1e-9)


def test_more_successes_than_uses_are_refused():
    with pytest.raises(InputError, match="as many"):
        principle_score(success=2, usage=1)


def test_equal_principles_merge_and_others_join():
    store = PrincipleStore(embed_words)
    first = store.offer("K means boss", success=True, trajectory="a")
    assert (first.usage, first.success, first.score) == (0, 0, 0.5)
    assert store.offer("K means boss", success=True, trajectory="b") is first
    assert (first.usage, first.success) == (1, 1) and first.trajectories == ["a", "b"]
    store.offer("K means boss", success=False, trajectory="c")
    assert (first.usage, first.success, first.trajectories) == (2, 1, ["a", "b"])
    assert store.offer("M means ally", success=True, trajectory="d") is not first and len(store) == 2


def test_a_match_needs_both_the_cosine_and_the_judge():
    near = PrincipleStore(embed_words, same=lambda one, other: True, least=0.5)
    near.offer("a b c d", success=True, trajectory="a")
    near.offer("a b c e", success=True, trajectory="b")
    near.offer("x y z", success=True, trajectory="c")
    assert [one.text for one in near.principles] == ["a b c d", "x y z"]
    strict = PrincipleStore(embed_words, same=lambda one, other: False)
    strict.offer("a", success=True, trajectory="a")
    strict.offer("a", success=True, trajectory="b")
    assert len(strict) == 2
    never = PrincipleStore(embed_words, least=1.1)
    never.offer("a", success=True, trajectory="a")
    never.offer("a", success=True, trajectory="b")
    assert len(never) == 2


def test_only_the_last_trajectories_stay_linked():
    store = PrincipleStore(embed_words)
    for name in "abcde":
        found = store.offer("x", success=True, trajectory=name)
    assert found.trajectories == ["c", "d", "e"]


def test_prune_deletes_low_scores_and_keeps_retrieval_in_step():
    store = PrincipleStore(embed_words)
    for text in ("K means boss", "K means heir", "M means ally"):
        store.offer(text, success=True, trajectory="t")
    bad = store.principles[1]
    for _ in range(2):
        bad.use(False)
    assert bad.score == 0.25 and store.prune() == [bad] and store.prune() == []
    assert [one.text for one in store.retrieve("M means", k=1)] == ["M means ally"]
    assert [one.text for one in store.retrieve("K means", k=2)] == ["K means boss", "M means ally"]
    assert store.scores == [0.5, 0.5]
    keeping = PrincipleStore(embed_words, floor=0.0)
    keeping.offer("x", success=False, trajectory="t").use(False)
    assert keeping.prune() == []
