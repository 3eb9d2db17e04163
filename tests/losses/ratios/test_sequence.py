import math

import pytest

from handaxe.core.errors import InputError
from handaxe.losses.policy import policy
from handaxe.losses.ratios.sequence import sequence
from handaxe.losses.reductions.rollout_mean import rollout_mean
from handaxe.losses.surrogates.clip import clip
from handaxe.testing.batches import small_batch, small_policy
from handaxe.testing.losses import differentiate

TOGETHER = "rollouts"

LOG_RATIOS = [[0.1, 0.3, None, -0.1]]


def example(rollout=None, rows=LOG_RATIOS):
    batch = small_batch([[None if x is None else 1.0 for x in row] for row in rows], rollout=rollout)
    return small_policy(batch, [[None if x is None else x - 1.0 for x in row] for row in rows]), batch


def test_the_docstring_example_is_the_geometric_mean():
    out, batch = example()
    ratio_BT = sequence()(out, batch)
    assert ratio_BT.exp()[batch.mask_BT].tolist() == pytest.approx([1.1051709] * 3)
    assert ratio_BT[~batch.mask_BT].tolist() == [0.0, 0.0]
    ratio_BT[0, 1].backward()
    assert out.logp_BT.grad[batch.mask_BT].tolist() == pytest.approx([1 / 3] * 3)


def test_without_mean_it_is_the_ratio_of_the_whole_rollout():
    out, batch = example()
    ratio_BT = sequence(mean=False)(out, batch)
    assert ratio_BT.exp()[batch.mask_BT].tolist() == pytest.approx([1.3498588] * 3)
    ratio_BT[0, 1].backward()
    assert out.logp_BT.grad[batch.mask_BT].tolist() == [1.0] * 3
    out, batch = example(rollout=[0, 0], rows=[[0.1, 0.3], [-0.1]])
    assert sequence(mean=False)(out, batch)[batch.mask_BT].tolist() == pytest.approx([0.3] * 3)
    assert sequence(mean=False, per_row=True)(out, batch)[batch.mask_BT].tolist() == pytest.approx([0.4, 0.4, -0.1])


def test_gspo_loss_of_the_example():
    """s = 1.10517 is inside 0.2, so L = -s and each token has a third of its gradient; eps 4e-4 stops it."""
    out, batch = example()
    wide = differentiate(policy(ratio=sequence(), surrogate=clip(), reduction=rollout_mean()), out, batch)
    assert wide.value == pytest.approx(-1.1051709)
    assert wide.gradients["logp"][batch.mask_BT].tolist() == pytest.approx([-1.1051709 / 3] * 3)
    tight = policy(ratio=sequence(), surrogate=clip(eps_low=3e-4, eps_high=4e-4), reduction=rollout_mean())
    stopped = differentiate(tight, out, batch)
    assert stopped.value == pytest.approx(-1.0004)
    assert not stopped.gradients["logp"].any()
    assert stopped.metrics["clip_fraction"] == 1.0


def test_a_rollout_of_two_rows_has_one_ratio():
    out, batch = example(rollout=[0, 0], rows=[[0.1, 0.3], [-0.1]])
    assert sequence()(out, batch)[batch.mask_BT].tolist() == pytest.approx([0.1] * 3)
    assert sequence(per_row=True)(out, batch)[batch.mask_BT].tolist() == pytest.approx([0.2, 0.2, -0.1])


def test_half_a_rollout_is_an_error():
    out, batch = example(rollout=[0, 0], rows=[[0.1, 0.3], [-0.1]])
    half = batch.rows(slice(0, 1))
    with pytest.raises(InputError, match="rollouts \\[0\\] have rows in another micro-batch"):
        sequence()(small_policy(half, -1.0), half)
    assert sequence(per_row=True)(small_policy(half, -0.8), half)[0, 1].item() == pytest.approx(0.2)


def test_clamp_bounds_the_log_ratio():
    batch = small_batch([[1.0]], old=[[-900.0]])
    assert sequence()(small_policy(batch, -1.0), batch)[0, 1].item() == 20.0
    assert math.isfinite(math.exp(20.0))
