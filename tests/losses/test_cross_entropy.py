import pytest

from handaxe.losses.cross_entropy import cross_entropy
from handaxe.losses.reductions.rollout_mean import rollout_mean
from handaxe.testing.batches import small_batch, small_policy
from handaxe.testing.losses import differentiate


def test_cross_entropy_matches_the_docstring_example():
    batch = small_batch([[1.0, None, 1.0]])
    found = differentiate(cross_entropy(), small_policy(batch, [[-0.5, None, -1.5]]), batch)
    assert found.value == pytest.approx(1.0)
    assert found.metrics == {"loss": pytest.approx(1.0)}
    assert found.gradients["logp"].tolist() == [[0.0, -0.5, 0.0, -0.5]]


def test_advantages_do_not_enter():
    a, b = small_batch([[1.0, 1.0]]), small_batch([[-3.0, 0.0]])
    values = [differentiate(cross_entropy(), small_policy(batch, -0.7), batch).value for batch in (a, b)]
    assert values == [pytest.approx(0.7)] * 2


def test_the_reduction_is_an_argument():
    batch = small_batch([[1.0, 1.0, 1.0], [1.0]])
    out = small_policy(batch, [[-1.0, -1.0, -1.0], [-3.0]])
    assert differentiate(cross_entropy(), out, batch).value == pytest.approx(1.5)
    assert differentiate(cross_entropy(reduction=rollout_mean()), out, batch).value == pytest.approx(2.0)
