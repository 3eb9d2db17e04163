import math

import pytest
import torch

from handaxe.core.batch import LossOut
from handaxe.core.errors import TrainingError
from handaxe.engines.local.loss_grad import check_trainable, loss_grad
from handaxe.testing.batches import random_batch, random_policy


def unused_entropy():
    raise AssertionError("the loss does not need the entropy")


def test_loss_grad_gives_the_gradients_of_a_known_loss():
    batch = random_batch(0)
    out = random_policy(batch, 0)

    def loss(policy, batch):
        entropy_BT = policy.entropy() + policy.entropy()
        value = torch.where(batch.mask_BT, 3 * policy.logp_BT - entropy_BT + policy.value_BT**2, 0.0).sum()
        return LossOut(value, {"mine": value.item()})

    calls = []
    out_loss, grads = loss_grad(
        loss,
        batch,
        logp_BT=out.logp_BT,
        entropy=lambda: calls.append(1) or out.entropy(),
        value_BT=out.value_BT,
    )
    mask_BT = batch.mask_BT.double()
    torch.testing.assert_close(grads["logp"], 3 * mask_BT, rtol=0, atol=1e-12)
    torch.testing.assert_close(grads["entropy"], -2 * mask_BT, rtol=0, atol=1e-12)
    want_BT = torch.where(batch.mask_BT, 2 * out.value_BT.detach(), 0.0)
    torch.testing.assert_close(grads["value"], want_BT, rtol=0, atol=1e-12)
    assert calls == [1] and not out_loss.value.requires_grad and out_loss.metrics["mine"] == out_loss.value.item()
    assert out.logp_BT.grad is None, "the given tensors get no gradient"


def test_unused_entropy_is_not_computed_and_has_no_gradient():
    batch = random_batch(0)
    out = random_policy(batch, 0)
    plain = lambda policy, batch: LossOut(torch.where(batch.mask_BT, policy.logp_BT, 0.0).sum(), {})  # noqa: E731
    assert set(loss_grad(plain, batch, logp_BT=out.logp_BT, entropy=unused_entropy, value_BT=out.value_BT)[1]) == {
        "logp"
    }


def test_nonfinite_or_constant_loss_raises():
    batch = random_batch(0)
    logp_BT = random_policy(batch, 0).logp_BT
    broken = lambda policy, batch: LossOut(policy.logp_BT.sum() * math.nan, {"mine": math.nan})  # noqa: E731
    with pytest.raises(TrainingError, match=r"metrics mine.*weights are unchanged"):
        loss_grad(broken, batch, logp_BT=logp_BT, entropy=unused_entropy)
    constant = lambda policy, batch: LossOut(torch.tensor(1.0), {})  # noqa: E731
    with pytest.raises(TrainingError, match="does not depend"):
        loss_grad(constant, batch, logp_BT=logp_BT, entropy=unused_entropy)
    batch.mask_BT[:] = False
    assert loss_grad(constant, batch, logp_BT=logp_BT, entropy=unused_entropy)[1] == {}


def test_optimiser_step_without_trained_tokens_raises():
    batch = random_batch(0)
    check_trainable(batch)
    with pytest.raises(TrainingError, match="no token of the optimiser step trains"):
        check_trainable(batch.__class__(**vars(batch) | {"denominators": batch.denominators._replace(tokens=0.0)}))
