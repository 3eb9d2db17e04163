import pytest

from handaxe.losses.reductions.rollout_sum import rollout_sum
from handaxe.losses.terms.entropy import entropy
from handaxe.testing.batches import small_batch, small_policy
from handaxe.testing.losses import differentiate

EXAMPLE = {"coefficient": 0.01}


def test_entropy_matches_the_docstring_example():
    batch = small_batch([[1.0, None, 1.0]])
    out = small_policy(batch, -1.0, entropy=[[0.5, 99.0, 0.7]])
    found = differentiate(entropy(coefficient=0.01), out, batch)
    assert found.value == pytest.approx(-0.006)
    assert found.metrics == {"entropy": pytest.approx(0.6)}
    assert found.gradients["entropy"].tolist() == [[0.0, -0.005, 0.0, -0.005]]
    assert differentiate(entropy(coefficient=1.0, reduction=rollout_sum()), out, batch).value == pytest.approx(-1.2)


def test_coefficient_zero_still_reports():
    batch = small_batch([[1.0]])
    found = differentiate(entropy(coefficient=0.0), small_policy(batch, -1.0, entropy=0.4), batch)
    assert found.metrics == {"entropy": pytest.approx(0.4)}
    assert found.value == 0
