import math

import pytest
from helpers.pair_batches import pair, pairs_with_strengths, rollout_means, strengths

from handaxe.core.errors import InputError
from handaxe.losses.preference.neutral import neutral
from handaxe.testing.batches import random_policy
from handaxe.testing.losses import differentiate

TOGETHER, BATCH = "pairs", pairs_with_strengths


@pytest.mark.parametrize(
    "scores, strength, value",
    [((0.4, 0), 0, 0.7130153), ((0, 0), 0, math.log(2)), ((1, 0), 0, 0.8132617), ((1, 0), 1, 0)],
)
def test_the_numbers_of_crome(scores, strength, value):
    """D = 0.4 -> 0.7130, with the minimum ln 2 at 0; other pairs add nothing."""
    assert differentiate(neutral(), *pair(*scores, strength)).value == pytest.approx(value, abs=1e-6)


def test_equal_scores_have_no_gradient():
    found = differentiate(neutral(weight=2.0), *pair(0.7, 0.7, 0))
    assert found.gradients["head/reward"].abs().max() == pytest.approx(0, abs=1e-12) and found.metrics["gap"] == 0


@pytest.mark.parametrize("seed", range(2))
def test_it_equals_a_slow_loop(seed):
    batch = pairs_with_strengths(seed)
    out = random_policy(batch, seed)
    score, strength = rollout_means(out, batch), strengths(batch)
    gaps = [float(score[2 * one] - score[2 * one + 1]) for one, s in strength.items() if s == 0]
    value = sum(math.log1p(math.exp(-d)) + math.log1p(math.exp(d)) for d in gaps) / 2 / len(strength)
    found = differentiate(neutral(weight=0.5), out, batch)
    assert found.value == pytest.approx(0.5 * value, abs=1e-9)
    assert found.metrics["gap"] == pytest.approx(sum(map(abs, gaps)) / len(strength))


def test_a_negative_weight_is_refused():
    with pytest.raises(InputError, match="give 0 or more"):
        neutral(weight=-1)
