import math
from functools import partial

import pytest
from helpers.pair_batches import with_labels

from handaxe.core.errors import InputError
from handaxe.losses.preference.label_regression import label_regression
from handaxe.testing.batches import random_policy, small_batch, small_policy
from handaxe.testing.losses import differentiate

EXAMPLE, NAMES = {"labels": ("score", "tone"), "head": "gaussian"}, ("score", "tone")


def BATCH(seed):
    """Two labels."""
    return with_labels(seed, *NAMES)


def test_the_docstring_example():
    batch = small_batch([[1.0]], extras={"label/score": [[0.0]], "label/tone": [[float("nan")]]})
    out = small_policy(batch, -1.0, heads={"gaussian": [[[1.0]], [[2.0]]]})
    found = differentiate(label_regression(**EXAMPLE), out, batch)
    assert found.value == 0.5 and found.metrics["known"] == 0.5
    assert found.gradients["head/gaussian"][batch.mask_BT].flatten().tolist() == [1.0, 0.0]


@pytest.mark.parametrize("seed", range(2))
def test_it_equals_a_slow_loop(seed):
    batch = BATCH(seed)
    out, value, places = random_policy(batch, seed), 0.0, 0
    for row, column in batch.mask_BT.nonzero().tolist():
        for k, name in enumerate(NAMES):
            places += 1
            label = float(batch.extras[f"label/{name}"][row, column])
            if not math.isnan(label):
                value += (float(out.heads["gaussian"][row, column, k]) - label) ** 2
    assert differentiate(label_regression(**EXAMPLE), out, batch).value == pytest.approx(value / places, abs=1e-9)


def test_labels_and_outputs_have_to_agree():
    batch = BATCH(0)
    run = partial(differentiate, out=random_policy(batch, 0), batch=batch)
    with pytest.raises(InputError, match="the head 'reward' has 1 outputs, and the labels score, tone need 2"):
        run(label_regression(labels=NAMES))
    with pytest.raises(InputError, match="the batch has no label warmth; it has score, tone"):
        run(label_regression(labels=("warmth",)))
