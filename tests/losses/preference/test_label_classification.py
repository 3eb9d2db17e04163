import math

import pytest
from helpers.pair_batches import with_labels

from handaxe.losses.preference.label_classification import label_classification
from handaxe.testing.batches import random_policy, small_batch, small_policy
from handaxe.testing.losses import differentiate


def BATCH(seed):
    """One label."""
    return with_labels(seed, "correct")


@pytest.mark.parametrize(
    "label, value, right", [(1.0, 0.3132617, 1.0), (0.0, 1.3132617, 0.0), (float("nan"), 0.0, 0.0)]
)
def test_the_docstring_example(label, value, right):
    batch = small_batch([[1.0]], extras={"label/correct": [[label]]})
    found = differentiate(label_classification(), small_policy(batch, -1.0, heads={"reward": [[[1.0]]]}), batch)
    assert found.value == pytest.approx(value, abs=1e-6)
    assert found.metrics["accuracy"] == right and found.metrics["known"] == float(not math.isnan(label))


@pytest.mark.parametrize("seed", range(2))
def test_it_equals_a_slow_loop(seed):
    batch = BATCH(seed)
    out, value, right, places = random_policy(batch, seed), 0.0, 0, 0
    for row, column in batch.mask_BT.nonzero().tolist():
        places += 1
        label = float(batch.extras["label/correct"][row, column])
        if not math.isnan(label):
            p = 1 / (1 + math.exp(-out.heads["reward"][row, column, 0].item()))
            value -= label * math.log(p) + (1 - label) * math.log(1 - p)
            right += (p > 0.5) == (label > 0.5)
    found = differentiate(label_classification(), out, batch)
    assert found.value == pytest.approx(value / places, abs=1e-9)
    assert found.metrics["accuracy"] == pytest.approx(right / places)
