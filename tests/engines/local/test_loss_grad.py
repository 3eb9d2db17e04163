import math

import pytest
import torch

from handaxe.core.batch import LossOut
from handaxe.core.errors import TrainingError
from handaxe.engines.local.loss_grad import check_trained, loss_grad
from handaxe.testing.batches import random_batch, random_policy


def never():
    raise AssertionError("the loss did not ask for the entropy")


def test_of_a_loss_that_is_known():
    batch = random_batch(0)
    out = random_policy(batch, 0)

    def loss(policy, batch):
        entropy_BT = policy.entropy() + policy.entropy()
        value = torch.where(batch.mask_BT, 3 * policy.logp_BT - entropy_BT + policy.value_BT**2, 0.0).sum()
        return LossOut(value, {"mine": value.item()})

    asked = []
    found, slope = loss_grad(
        loss,
        batch,
        logp_BT=out.logp_BT,
        entropy=lambda: asked.append(1) or out.entropy(),
        value_BT=out.value_BT,
    )
    mask_BT = batch.mask_BT.double()
    torch.testing.assert_close(slope["logp"], 3 * mask_BT, rtol=0, atol=1e-12)
    torch.testing.assert_close(slope["entropy"], -2 * mask_BT, rtol=0, atol=1e-12)
    want_BT = torch.where(batch.mask_BT, 2 * out.value_BT.detach(), 0.0)
    torch.testing.assert_close(slope["value"], want_BT, rtol=0, atol=1e-12)
    assert asked == [1] and not found.value.requires_grad and found.metrics["mine"] == found.value.item()
    assert out.logp_BT.grad is None, "the numbers that were handed over are left alone"


def test_what_the_loss_does_not_ask_for_is_not_computed_and_has_no_slope():
    batch = random_batch(0)
    out = random_policy(batch, 0)
    plain = lambda policy, batch: LossOut(torch.where(batch.mask_BT, policy.logp_BT, 0.0).sum(), {})  # noqa: E731
    assert set(loss_grad(plain, batch, logp_BT=out.logp_BT, entropy=never, value_BT=out.value_BT)[1]) == {"logp"}


def test_a_loss_that_is_not_finite_or_depends_on_nothing_is_refused():
    batch = random_batch(0)
    logp_BT = random_policy(batch, 0).logp_BT
    broken = lambda policy, batch: LossOut(policy.logp_BT.sum() * math.nan, {"mine": math.nan})  # noqa: E731
    with pytest.raises(TrainingError, match=r"metrics mine.*weights are untouched"):
        loss_grad(broken, batch, logp_BT=logp_BT, entropy=never)
    constant = lambda policy, batch: LossOut(torch.tensor(1.0), {})  # noqa: E731
    with pytest.raises(TrainingError, match="does not depend"):
        loss_grad(constant, batch, logp_BT=logp_BT, entropy=never)
    batch.mask_BT[:] = False
    assert loss_grad(constant, batch, logp_BT=logp_BT, entropy=never)[1] == {}


def test_a_step_without_tokens_is_refused():
    batch = random_batch(0)
    check_trained(batch)
    with pytest.raises(TrainingError, match="nothing to train"):
        check_trained(batch.__class__(**vars(batch) | {"denominators": batch.denominators._replace(tokens=0.0)}))
