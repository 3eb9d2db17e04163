import math

import pytest
from helpers.pair_batches import with_labels

from handaxe.losses.preference.gaussian_nll import gaussian_nll
from handaxe.testing.batches import random_policy, small_batch, small_policy
from handaxe.testing.losses import differentiate

EXAMPLE = {"head": "gaussian"}


def BATCH(seed):
    """One label."""
    return with_labels(seed, "score")


@pytest.mark.parametrize("spread, value", [(0.0, 2.9189385), (math.log(2), 2.1120857)])
def test_the_docstring_example(spread, value):
    batch = small_batch([[1.0]], extras={"label/score": [[3.0]]})
    out = small_policy(batch, -1.0, heads={"gaussian": [[[1.0]], [[spread]]]})
    found = differentiate(gaussian_nll(**EXAMPLE), out, batch)
    assert found.value == pytest.approx(value, abs=1e-6) and found.metrics["spread"] == pytest.approx(math.exp(spread))


@pytest.mark.parametrize("seed", range(2))
def test_it_equals_a_slow_loop(seed):
    batch = BATCH(seed)
    out, value, places = random_policy(batch, seed), 0.0, 0
    for row, column in batch.mask_BT.nonzero().tolist():
        places += 1
        label = float(batch.extras["label/score"][row, column])
        if not math.isnan(label):
            mean, spread = out.heads["gaussian"][row, column].tolist()
            variance = math.exp(spread) ** 2
            value += 0.5 * math.log(2 * math.pi * variance) + (label - mean) ** 2 / (2 * variance)
    assert differentiate(gaussian_nll(**EXAMPLE), out, batch).value == pytest.approx(value / places, abs=1e-9)
