import pytest
from helpers.pair_batches import pair, pairs_with_strengths, rollout_means, strengths

from handaxe.core.errors import InputError
from handaxe.losses.preference.hinge import hinge
from handaxe.testing.batches import random_policy
from handaxe.testing.losses import differentiate

TOGETHER, BATCH = "pairs", pairs_with_strengths


@pytest.mark.parametrize(
    "scores, strength, value", [((1, 0.5), 1, 0.5), ((2, 0.5), 1, 0), ((0, 1), 1, 2), ((0, 1), 0, 0)]
)
def test_the_docstring_example(scores, strength, value):
    assert differentiate(hinge(), *pair(*scores, strength)).value == pytest.approx(value)


@pytest.mark.parametrize("seed", range(2))
def test_it_equals_a_slow_loop(seed):
    batch = pairs_with_strengths(seed)
    out = random_policy(batch, seed)
    score, strength = rollout_means(out, batch), strengths(batch)
    value = sum(max(0.0, 0.3 - float(score[2 * one] - score[2 * one + 1])) for one, s in strength.items() if s > 0)
    assert differentiate(hinge(margin=0.3), out, batch).value == pytest.approx(value / len(strength), abs=1e-9)


def test_a_margin_of_zero_is_refused():
    with pytest.raises(InputError, match="give more than 0"):
        hinge(margin=0)
