"""Valid losses pass check_loss, and every kind of invalid loss fails."""

import math
from dataclasses import replace

import pytest
import torch

from handaxe.core.batch import LossOut
from handaxe.testing.batches import random_batch, random_policy
from handaxe.testing.losses import check_loss, differentiate


def kept(out, batch):
    return -torch.where(batch.mask_BT, batch.adv_BT, 0.0) * torch.where(batch.mask_BT, out.logp_BT, 0.0)


def mean_loss(out, batch):
    value = kept(out, batch).sum() / (batch.denominators.tokens or 1.0)
    return LossOut(value, {"loss": value.item()})


def masks_the_product(out, batch):
    """The value is correct; the gradient of logp is 0 * NaN."""
    value = torch.where(batch.mask_BT, -batch.adv_BT * out.logp_BT, 0.0).sum() / (batch.denominators.tokens or 1.0)
    return LossOut(value, {})


def multiplies_by_the_mask(out, batch):
    value = (-batch.adv_BT * out.logp_BT * batch.mask_BT).sum() / (batch.denominators.tokens or 1.0)
    return LossOut(value, {})


def leaks_into_a_metric(out, batch):
    return mean_loss(out, batch)._replace(metrics={"loss": out.logp_BT.sum().item()})


def counts_the_rows_present(out, batch):
    return LossOut(kept(out, batch).sum() / batch.mask_BT.sum().clamp(min=1), {})


def divides_by_the_width(out, batch):
    value = mean_loss(out, batch).value
    return LossOut(value / batch.mask_BT.shape[1], {})


def reads_the_first_row(out, batch):
    kept_B = kept(out, batch).sum(1)
    return LossOut(kept_B[0] / (batch.denominators.tokens or 1.0) + 0 * kept_B.sum(), {})


def writes_into_the_batch(out, batch):
    batch.adv_BT.mul_(2)
    return mean_loss(out, batch)


def draws_at_random(out, batch):
    value = mean_loss(out, batch).value
    return LossOut(value * (1 + torch.rand(())), {})


def is_nan_without_tokens(out, batch):
    return LossOut(kept(out, batch).sum() / torch.tensor(batch.denominators.tokens), {})


def is_not_a_scalar(out, batch):
    return LossOut(-out.logp_BT[batch.mask_BT], {})


def is_detached(out, batch):
    return LossOut(mean_loss(out, batch).value.detach(), {})


def has_metrics_that_do_not_add_up(out, batch):
    return mean_loss(out, batch)._replace(metrics={"rows": 1.0 * len(batch.mask_BT[batch.mask_BT.any(1)]) ** 2})


def overflows_in_float32(out, batch):
    value = mean_loss(out, batch).value
    return LossOut((value * 1e30) * 1e30 / 1e60, {})


def reports_a_tensor(out, batch):
    value = mean_loss(out, batch).value
    return LossOut(value, {"loss": value})


WRONG = [
    (masks_the_product, "off the mask.*gradient"),
    (multiplies_by_the_mask, "off the mask"),
    (leaks_into_a_metric, "off the mask"),
    (counts_the_rows_present, "micro-batches"),
    (divides_by_the_width, "padding|micro-batches"),
    (reads_the_first_row, "order|micro-batches"),
    (writes_into_the_batch, "changed a tensor"),
    (draws_at_random, "two calls differ"),
    (is_nan_without_tokens, "nothing to train"),
    (is_not_a_scalar, "scalar"),
    (is_detached, "no gradient"),
    (has_metrics_that_do_not_add_up, "micro-batches"),
    (overflows_in_float32, "float32|is nan|is inf"),
    (reports_a_tensor, "not a float"),
]


def test_valid_loss_passes():
    check_loss(mean_loss)


@pytest.mark.parametrize(("loss", "told"), WRONG, ids=lambda x: getattr(x, "__name__", ""))
def test_invalid_loss_raises(loss, told):
    with pytest.raises(AssertionError, match=told):
        check_loss(loss)


def whole_rollouts(out, batch):
    """Correct only if a rollout's rows are together."""
    kept_B = kept(out, batch).sum(1)
    same_BB = batch.rollout_B[:, None] == batch.rollout_B[None, :]
    total_B = torch.where(same_BB, kept_B[None, :], 0.0).sum(1)
    return LossOut((kept_B * total_B).sum() / (batch.denominators.tokens or 1.0), {})


def test_together_keeps_rows_in_one_micro_batch():
    check_loss(whole_rollouts, together=lambda batch: batch.rollout_B)
    with pytest.raises(AssertionError, match="micro-batches"):
        check_loss(whole_rollouts)


def test_differentiate_gives_zero_gradient_to_unused_inputs():
    batch = random_batch(0)
    found = differentiate(mean_loss, random_policy(batch, 0), batch)
    assert set(found.gradients) == {"logp", "entropy", "value", "head/gaussian", "head/reward"}
    assert not found.gradients["value"].any()
    scale = -batch.adv_BT / batch.denominators.tokens
    torch.testing.assert_close(found.gradients["logp"], torch.where(batch.mask_BT, scale, 0.0))
    without = differentiate(mean_loss, replace(random_policy(batch, 0), value_BT=None), batch)
    assert math.isclose(without.value, found.value)
    assert "value" not in without.gradients
