import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.core.records import Scores
from handaxe.credit.constant_baseline import constant_baseline
from handaxe.papers.auto_mc_reward.sign_bounded import sign_bounded
from handaxe.testing.make_records import make_group, make_trajectory

CONTRACT = []  # the scores of the contract have no channels
BIAS = "the process has no channels of a program"


def rewards_of(sparse, dense, turns, *, outcome=None, **options):
    """Reward that reaches the credit, by the advantage of a credit without a baseline."""
    group = make_group(trajectories=[make_trajectory(texts=["ab"] * count) for count in turns])
    zeros = np.zeros(len(turns)) if outcome is None else np.array(outcome)
    channels = {"task": np.array(sparse, float), "program": np.array(dense, float)}
    ignored = tuple(np.full(count, 9.0) for count in turns)
    found = sign_bounded(credit=constant_baseline(), **options)(group, Scores(zeros, ignored, channels=channels))
    masks = [sequence.mask for one in group for sequence in one.sequences]
    return [float(own[0][mask][0]) for own, mask in zip(found.tokens, masks, strict=True)]


def test_sign_bounded_matches_its_example():
    assert rewards_of([5, 0, 0], [-0.1, 0.1, 40], [1, 1, 1]) == pytest.approx([0.9, 0.1, 0.1], abs=1e-12)


def test_sign_bounded_limits_the_dense_part_by_turns():
    # 3 turns allow 0.3: 2.5 -> 0.3, -0.2 stays, -7 -> -0.3; the sparse part is the sign of -4, 0 and 0.001
    assert rewards_of([-4, 0, 0.001], [2.5, -0.2, -7], [3, 3, 3]) == pytest.approx([-0.7, -0.2, 0.7], abs=1e-12)


def test_sign_bounded_without_bounds_is_the_plain_sum():
    assert rewards_of([5, 0], [-40, 2.5], [1, 2], bounded=False) == pytest.approx([-35, 2.5], abs=1e-12)


def test_a_sibling_without_outcome_stays_unscored():
    assert rewards_of([1, 1], [0.1, 0.1], [1, 1], outcome=[np.nan, 0]) == pytest.approx([0.0, 1.1], abs=1e-12)


@given(st.lists(st.tuples(st.floats(-9, 9), st.floats(-99, 99), st.integers(1, 4)), min_size=1, max_size=4))
def test_no_dense_part_exceeds_a_tenth_a_turn(rows):
    sparse, dense, turns = zip(*rows, strict=True)
    found = rewards_of(sparse, dense, turns)
    for reward, s, d, count in zip(found, sparse, dense, turns, strict=True):
        sign = 1.0 if s > 0 else -1.0 if s < 0 else 0.0
        kept = d if abs(d) <= 0.1 * count else 0.1 * count * (1 if d > 0 else -1)
        assert reward == pytest.approx(sign + kept, abs=1e-9)


def test_sign_bounded_names_a_missing_channel():
    group = make_group(size=1)
    with pytest.raises(InputError, match="lack program: combine both rewards with rewards.weighted"):
        sign_bounded(credit=constant_baseline())(group, Scores(np.zeros(1), channels={"task": np.zeros(1)}))
