import math

import pytest
from helpers.pair_batches import pair, pairs_with_strengths, rollout_means, strengths

from handaxe.core.errors import InputError
from handaxe.losses.preference.bradley_terry_with_ties import bradley_terry_with_ties
from handaxe.testing.batches import random_policy
from handaxe.testing.losses import differentiate

TOGETHER, BATCH = "pairs", pairs_with_strengths


@pytest.mark.parametrize(
    "scores, strength, value",
    [((1, 0), 1, 1.0435918), ((1, 0), 0, 0.5459709), ((0, 0), 0, 0.4054651), ((0, 0), 2, 1.7917595)],
)
def test_the_numbers_of_videoreward(scores, strength, value):
    """D = 1: strict 1.0436, tie .5460; D = 0: tie .4055."""
    out, batch = pair(*scores, strength)
    assert differentiate(bradley_terry_with_ties(k=5), out, batch).value == pytest.approx(value, abs=1e-6)


@pytest.mark.parametrize("difference", [-3.0, -0.4, 0.0, 1.0, 7.0])
@pytest.mark.parametrize("k", [1.5, 5.0])
def test_the_three_probabilities_add_up_to_one(difference, k):
    loss = bradley_terry_with_ties(k=k)
    first, second, tie = (
        math.exp(-differentiate(loss, *pair(*sides, strength)).value)
        for sides, strength in (((difference, 0), 1), ((0, difference), 1), ((difference, 0), 0))
    )
    assert first + second + tie == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_it_equals_a_slow_loop(seed):
    batch, k = pairs_with_strengths(seed), 3.0
    out = random_policy(batch, seed)
    score, strength = rollout_means(out, batch), strengths(batch)
    value = 0.0
    for one, s in strength.items():
        chosen, rejected = math.exp(score[2 * one]), math.exp(score[2 * one + 1])
        won, lost = chosen / (chosen + k * rejected), rejected / (rejected + k * chosen)
        value -= math.log(won if s > 0 else (k**2 - 1) * won * lost)
    found = differentiate(bradley_terry_with_ties(k=k), out, batch)
    assert found.value == pytest.approx(value / len(strength), abs=1e-9)


def test_k_of_one_is_refused():
    with pytest.raises(InputError, match="give more than 1"):
        bradley_terry_with_ties(k=1)
