import pytest
import torch

from handaxe.losses.covariance.kl_cov import kl_cov
from handaxe.losses.policy import policy
from handaxe.losses.ratios.token import token
from handaxe.losses.reductions.token_mean import token_mean
from handaxe.losses.surrogates.unclipped import unclipped
from handaxe.testing.batches import random_batch, random_policy, small_batch, small_policy
from handaxe.testing.losses import differentiate

TOGETHER = "everything"


def loss(**arguments):
    adjust = [kl_cov(**arguments)]
    return policy(ratio=token(), surrogate=unclipped(), reduction=token_mean(), adjustments=adjust)


def test_kl_cov_matches_the_docstring_example():
    """cov 1.0667, 0.4, -0.8667: token 0 has moved by 0.2 and pays 0.2."""
    batch = small_batch([[1.0, -1.0, None, 1.0]], old=[[-0.3, -2.0, None, -3.0]])
    out = small_policy(batch, [[-0.1, -2.0, None, -3.0]])
    found = differentiate(loss(), out, batch)
    grown = 1.2214028
    assert found.value == pytest.approx((-grown + 0.2 + 1 - 1) / 3)
    assert found.gradients["logp"][batch.mask_BT].tolist() == pytest.approx([(-grown + 1) / 3, 1 / 3, -1 / 3])
    assert found.metrics["adjusted_fraction"] == pytest.approx(1 / 3)
    assert differentiate(loss(coefficient=0.5), out, batch).value == pytest.approx((-grown + 0.1) / 3)


@pytest.mark.parametrize("fraction", [0.0, 0.1, 0.5])
def test_kl_cov_equals_a_slow_loop(fraction):
    batch = random_batch(4)
    out = random_policy(batch, 4)
    adv, logp = batch.adv_BT[batch.mask_BT].tolist(), out.logp_BT[batch.mask_BT].tolist()
    old = batch.old_logp_BT[batch.mask_BT].tolist()
    count = len(adv)
    mean_adv, mean_logp = sum(adv) / count, sum(logp) / count
    cov = [(a - mean_adv) * (lp - mean_logp) for a, lp in zip(adv, logp)]
    top = sorted(range(count), key=lambda t: -cov[t])[: max(1, int(fraction * count))]
    plain = differentiate(policy(ratio=token(), surrogate=unclipped(), reduction=token_mean()), out, batch)
    extra = sum(abs(logp[t] - old[t]) for t in top) / count
    found = differentiate(loss(fraction=fraction), out, batch)
    assert found.value == pytest.approx(plain.value + extra, abs=1e-12)
    change = (found.gradients["logp"] - plain.gradients["logp"])[batch.mask_BT]
    wanted = torch.zeros(count, dtype=torch.float64)
    wanted[top] = torch.tensor([1.0 if logp[t] > old[t] else -1.0 for t in top], dtype=torch.float64) / count
    torch.testing.assert_close(change, wanted, atol=1e-12, rtol=0)


def test_the_first_step_adds_nothing():
    batch = small_batch([[1.0, -1.0]], old=-0.5)
    assert differentiate(loss(), small_policy(batch, -0.5), batch).metrics["adjusted_fraction"] == 0.0
