import math

import pytest

from handaxe.core.errors import InputError
from handaxe.losses.reductions.rollout_mean import rollout_mean
from handaxe.losses.terms.kl import kl
from handaxe.ops.kl_estimators import k1, k2, k3_straight_through
from handaxe.testing.batches import small_batch, small_policy
from handaxe.testing.losses import differentiate

EXAMPLE = {"coefficient": 0.04}


def example(d=0.5):
    batch = small_batch([[1.0]], extras={"ref_logp": [[-1.0 - d]]})
    return small_policy(batch, [[-1.0]]), batch


# estimator, kl, d L / d logp       at d = 0.5 with coefficient 0.04
EXAMPLES = [
    ({}, 0.1065307, 0.0157387),
    ({"estimator": k1}, 0.5, 0.04),
    ({"estimator": k2}, 0.125, 0.02),
    ({"estimator": k3_straight_through}, 0.1065307, 0.02),
]


@pytest.mark.parametrize(("arguments", "value", "gradient"), EXAMPLES)
def test_kl_matches_the_docstring_example(arguments, value, gradient):
    out, batch = example()
    found = differentiate(kl(coefficient=0.04, **arguments), out, batch)
    assert found.metrics == {"kl": pytest.approx(value, abs=1e-7)}
    assert found.value == pytest.approx(0.04 * value, abs=1e-8)
    assert found.gradients["logp"][batch.mask_BT].tolist() == pytest.approx([gradient], abs=1e-7)


def test_clamp_and_ceiling_bound_the_estimate():
    out, batch = example(d=-5.0)
    exact = math.exp(5) - 1 - 5
    assert differentiate(kl(coefficient=1.0), out, batch).metrics["kl"] == 10.0
    assert differentiate(kl(coefficient=1.0, ceiling=None), out, batch).metrics["kl"] == pytest.approx(exact)
    assert differentiate(kl(coefficient=1.0, clamp=1.0), out, batch).metrics["kl"] == pytest.approx(math.e - 2)
    assert not differentiate(kl(coefficient=1.0), out, batch).gradients["logp"].any(), "a clipped token has no gradient"


def test_the_reduction_is_an_argument():
    batch = small_batch([[1.0, 1.0], [1.0]], extras={"ref_logp": [[-1.5, -1.5], [-2.0]]})
    out = small_policy(batch, -1.0)
    mean = differentiate(kl(coefficient=1.0, estimator=k1), out, batch)
    assert mean.value == pytest.approx(2 / 3)
    assert differentiate(
        kl(coefficient=1.0, estimator=k1, reduction=rollout_mean()), out, batch
    ).value == pytest.approx(0.75)


def test_a_missing_reference_is_named():
    batch = small_batch([[1.0]], extras={"value": 0.0})
    with pytest.raises(InputError, match="'ref_logp'.*but the batch has value"):
        kl(coefficient=1.0)(small_policy(batch, -1.0), batch)
