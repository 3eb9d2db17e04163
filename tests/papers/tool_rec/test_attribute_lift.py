from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.papers.tool_rec.attribute_lift import attribute_lift, history_lift, value_shares

HALF = np.array([0.5, 0.5])
FIRST = np.array([[1.0, 0.0], [1.0, 0.0]])


def test_lift_compares_a_user_with_all_users():
    judged = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5], [0.0, 0.0]])
    found = attribute_lift(FIRST, judged, HALF, smooth=2.0)
    assert found == pytest.approx([log(1.5), log(0.5), 0.0, 0.0], abs=1e-12)


def test_history_lift_leaves_out_the_judged_item():
    assert history_lift(FIRST, HALF, smooth=1.0) == pytest.approx(log(1.5), abs=1e-12)
    assert history_lift(np.eye(2), HALF, smooth=1.0) == pytest.approx(log(0.5), abs=1e-12)
    assert history_lift(np.zeros((0, 2)), HALF) == 0.0
    assert history_lift(np.zeros((3, 2)), HALF) == 0.0


@given(st.integers(0, 2**32 - 1))
def test_history_lift_is_the_mean_of_lifts_by_the_rest(seed):
    rng = np.random.default_rng(seed)
    history = rng.dirichlet(np.ones(3), size=int(rng.integers(1, 8))) * (rng.random((1, 1)) < 0.9)
    history[rng.random(len(history)) < 0.3] = 0
    base = rng.dirichlet(np.ones(3)) * 0.9 + 0.1 / 3
    slow = np.mean([attribute_lift(np.delete(history, h, axis=0), history[[h]], base)[0] for h in range(len(history))])
    assert history_lift(history, base) == pytest.approx(slow, abs=1e-9)


def test_shares_of_values_are_of_interactions():
    assert value_shares(np.eye(2), np.array([2, 0])) == pytest.approx([2.5 / 3, 0.5 / 3], abs=1e-12)


def test_wrong_arguments_raise():
    for base, smooth in ((HALF, 0.0), (np.array([1.0, 0.0]), 1.0)):
        with pytest.raises(InputError, match="must be above 0"):
            attribute_lift(FIRST, FIRST, base, smooth=smooth)
        with pytest.raises(InputError, match="must be above 0"):
            history_lift(FIRST, base, smooth=smooth)
