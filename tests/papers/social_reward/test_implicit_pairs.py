import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.papers.social_reward.community import Visit
from handaxe.papers.social_reward.implicit_pairs import edit_counts, edit_rates, implicit_pairs

EVENTS = [Visit(0, 0, 9), Visit(1, 0, 0), Visit(2, 0, 0), Visit(3, 1, 1), Visit(0, 1, 1)]


def test_one_member_with_nine_edits_counts_once_in_a_rate():
    assert edit_counts(EVENTS, 3).tolist() == [9, 2, 0]
    np.testing.assert_allclose(edit_rates(EVENTS, 3), [2 / 5, 3 / 4, 1 / 2], atol=1e-12)


def test_signals_equal_slow_loops():
    rng = np.random.default_rng(0)
    events = [Visit(*(int(one) for one in rng.integers((8, 4, 3)))) for _ in range(60)]
    for p in range(4):
        own = [one for one in events if one.picture == p]
        assert edit_counts(events, 4)[p] == sum(one.edits for one in own)
        seen = sorted({one.member for one in own})
        edited = sum(any(one.edits for one in own if one.member == member) for member in seen)
        assert edit_rates(events, 4)[p] == pytest.approx((edited + 1) / (len(seen) + 2))


def test_pairs_by_hand():
    assert implicit_pairs(np.array([1.0, 2.0, 4.0]), least=1.0) == [(2, 0), (2, 1)]
    assert implicit_pairs(np.array([1.0, 2.0, 4.0]), least=0.0) == [(1, 0), (2, 0), (2, 1)]
    assert implicit_pairs(np.ones(3)) == []
    with pytest.raises(InputError, match="least is -1"):
        implicit_pairs(np.ones(2), least=-1)
