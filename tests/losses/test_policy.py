import math

import pytest
import torch

from handaxe.core.errors import InputError
from handaxe.losses.corrections.tis import tis
from handaxe.losses.parts.token_metrics import effective_sample_size
from handaxe.losses.policy import policy
from handaxe.losses.ratios.sequence import sequence
from handaxe.losses.ratios.token import token
from handaxe.losses.reductions.rollout_mean import rollout_mean
from handaxe.losses.reductions.token_mean import token_mean
from handaxe.losses.surrogates.clip import clip
from handaxe.losses.surrogates.dual_clip import dual_clip
from handaxe.losses.surrogates.reinforce import reinforce
from handaxe.losses.surrogates.truncated import truncated
from handaxe.losses.surrogates.unclipped import unclipped
from handaxe.losses.terms.entropy import entropy
from handaxe.losses.terms.kl import kl
from handaxe.losses.terms.value import value
from handaxe.testing.batches import small_batch, small_policy
from handaxe.testing.losses import differentiate

EXAMPLE = {"ratio": token(), "surrogate": clip(), "reduction": rollout_mean()}

LOG = math.log


def ratios(*rho, adv=1.0):
    """One row, old log-prob -5, ratios as given, a tool's reply in the middle."""
    advs, logps = [adv] * len(rho), [LOG(x) - 5 for x in rho]
    batch = small_batch([[*advs[:1], None, *advs[1:]]], old=-5.0)
    return small_policy(batch, [[*logps[:1], None, *logps[1:]]]), batch


def test_policy_matches_the_docstring_example():
    out, batch = ratios(1.5, 1.0)
    found = differentiate(policy(ratio=token(), surrogate=clip(), reduction=token_mean()), out, batch)
    assert found.value == pytest.approx(-1.1)
    assert found.gradients["logp"].tolist() == [[0.0, 0.0, 0.0, pytest.approx(-0.5)]]
    approx_kl = (1.5 - 1 - LOG(1.5)) / 2
    assert found.metrics == {
        "loss": pytest.approx(-1.1),
        "policy_loss": pytest.approx(-1.1),
        "ratio_mean": pytest.approx(1.25),
        "ratio_max": pytest.approx(1.5),
        "clip_fraction": 0.5,
        "approx_kl": pytest.approx(approx_kl),
    }


@pytest.mark.parametrize(
    ("surrogate", "adv", "rho", "stopped"),
    [
        (clip(), 1.0, 1.5, 1.0),
        (clip(), -1.0, 1.5, 0.0),
        (clip(), -1.0, 0.5, 1.0),
        (clip(), 0.0, 1.5, 0.0),
        (dual_clip(), -1.0, 4.0, 1.0),
        (truncated(), 1.0, 9.0, 0.0),
        (reinforce(), 1.0, 9.0, 0.0),
        (unclipped(), 1.0, 9.0, 0.0),
    ],
)
def test_clip_fraction_counts_tokens_without_gradient(surrogate, adv, rho, stopped):
    out, batch = ratios(rho, adv=adv)
    loss = policy(ratio=token(), surrogate=surrogate, reduction=token_mean())
    assert differentiate(loss, out, batch).metrics["clip_fraction"] == stopped
    with torch.no_grad():
        assert loss(out, batch).metrics["clip_fraction"] == stopped


def test_terms_are_added_with_their_metrics():
    batch = small_batch([[1.0, 1.0]], extras={"ref_logp": -1.5, "value": 0.0, "returns": 0.2})
    out = small_policy(batch, -1.0, entropy=0.6, value=1.0)
    terms = [kl(coefficient=0.04), entropy(coefficient=0.01), value()]
    found = differentiate(policy(ratio=token(), surrogate=clip(), reduction=token_mean(), terms=terms), out, batch)
    assert found.metrics["policy_loss"] == pytest.approx(-1.0)
    assert found.value == pytest.approx(-1.0 + 0.04 * 0.1065307 - 0.006 + 0.32)
    assert found.metrics["loss"] == pytest.approx(found.value)
    assert {"kl", "entropy", "value_loss", "value_mean", "value_clip_fraction"} < set(found.metrics)


def test_two_metrics_with_one_name_are_an_error():
    batch = small_batch([[1.0]], extras={"ref_logp": -1.5})
    terms = [kl(coefficient=0.04), kl(coefficient=0.1)]
    with pytest.raises(InputError, match="'kl'"):
        policy(ratio=token(), surrogate=clip(), reduction=token_mean(), terms=terms)(small_policy(batch, -1.0), batch)


def test_another_shape_of_the_policy_is_an_error():
    out, _ = ratios(1.0, 1.0, 1.0)
    _, batch = ratios(1.0)
    with pytest.raises(InputError, match="logp_BT must have shape"):
        policy(ratio=token(), surrogate=clip(), reduction=token_mean())(out, batch)


def test_correction_weighs_the_loss_and_reports():
    """rho uses pi / pi_old, the weight pi_old / sampler: decoupled."""
    batch = small_batch([[1.0, 1.0]], old=[[-1.0, -0.5]], behaviour=[[-1.5, -2.0]])
    out = small_policy(batch, [[-1.0, -0.4]])
    found = differentiate(policy(ratio=token(), surrogate=clip(), reduction=token_mean(), correction=tis()), out, batch)
    w, rho = 1.6487213, math.exp(0.1)
    assert found.value == pytest.approx(-(w + 2 * rho) / 2)
    assert found.gradients["logp"][batch.mask_BT].tolist() == pytest.approx([-w / 2, -rho])
    assert found.metrics["correction_mean"] == pytest.approx((w + 2) / 2)
    assert found.metrics["correction_square"] == pytest.approx((w * w + 4) / 2)
    assert found.metrics["correction_cut"] == pytest.approx((4.4816891 - 2) / 2)
    assert effective_sample_size(found.metrics) == pytest.approx((w + 2) ** 2 / (2 * (w * w + 4)))


def test_adjustments_apply_in_order():
    out, batch = ratios(1.0, 1.0)

    def plus(loss_BT, log_ratio_BT, out, batch):
        return loss_BT + 1

    def twice(loss_BT, log_ratio_BT, out, batch):
        return 2 * loss_BT

    def made(*adjustments):
        return policy(ratio=token(), surrogate=clip(), reduction=token_mean(), adjustments=adjustments)

    assert differentiate(made(plus, twice), out, batch).value == pytest.approx(0.0)
    assert differentiate(made(twice, plus), out, batch).value == pytest.approx(-1.0)
    assert differentiate(made(plus), out, batch).metrics["adjusted_fraction"] == 1.0


def test_ratio_metrics_follow_the_ratio():
    out, batch = ratios(1.5, 1.0)
    found = differentiate(policy(ratio=sequence(), surrogate=clip(), reduction=token_mean()), out, batch)
    assert found.metrics["ratio_mean"] == pytest.approx(math.sqrt(1.5))
    assert found.metrics["approx_kl"] == pytest.approx((0.5 - LOG(1.5)) / 2)
