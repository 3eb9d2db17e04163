"""Trap 17: a two-armed bandit whose sampler is not the trained policy, with every expectation in closed form.

Arm 1 is pulled with probability p = sigmoid(theta) by the policy and q by the sampler; it pays 1, arm 0 pays 0. Sixteen
rollouts hold the arms in exactly the sampler's proportions, so a mean over them is an expectation.

    J = p, dJ/dtheta = p (1 - p)
    sum over arms of q_a w_a R_a dlog pi_a / dtheta = q min(p / q, C) (1 - p)           R_1 = 1, R_0 = 0
"""

import math

import pytest
import torch

from handaxe.losses.corrections.mis import mis
from handaxe.losses.corrections.tis import tis
from handaxe.losses.parts.metrics import effective_sample_size
from handaxe.losses.policy import policy
from handaxe.losses.ratios.token import token
from handaxe.losses.reductions.rollout_sum import rollout_sum
from handaxe.losses.surrogates.reinforce import reinforce
from handaxe.tensors import PolicyOut
from handaxe.testing.batches import small_batch

PULLS = 16


def gradient(correction, *, p, q, rewards=(0.0, 1.0)):
    """dL/dtheta and the metrics of the corrected REINFORCE loss at sigmoid(theta) = p."""
    arms = [1] * round(q * PULLS) + [0] * round((1 - q) * PULLS)
    old, behaviour = {1: math.log(p), 0: math.log(1 - p)}, {1: math.log(q), 0: math.log(1 - q)}
    batch = small_batch(
        [[rewards[arm]] for arm in arms],
        old=[[old[arm]] for arm in arms],
        behaviour=[[behaviour[arm]] for arm in arms],
    )
    theta = torch.tensor(math.log(p / (1 - p)), dtype=torch.float64, requires_grad=True)
    sign_B = torch.tensor([1.0 if arm else -1.0 for arm in arms], dtype=torch.float64)
    logp_B = torch.nn.functional.logsigmoid(sign_B * theta)
    out = PolicyOut(torch.stack([torch.zeros_like(logp_B), logp_B], 1), lambda: torch.zeros(len(arms), 2))
    loss = policy(ratio=token(), surrogate=reinforce(), reduction=rollout_sum(), correction=correction)
    value, metrics = loss(out, batch)
    value.backward()
    return theta.grad.item(), metrics


@pytest.mark.parametrize(("p", "q"), [(0.5, 0.25), (0.75, 0.5), (0.25, 0.75), (0.6, 0.125)])
def test_with_no_cap_the_gradient_is_that_of_the_objective(p, q):
    found, _ = gradient(tis(cap=100.0), p=p, q=q)
    assert found == pytest.approx(-p * (1 - p), abs=1e-12)


@pytest.mark.parametrize("cap", [1.0, 1.5, 2.0, 3.0, 4.8, 10.0])
def test_with_a_cap_it_is_the_truncated_one(cap):
    p, q = 0.6, 0.125
    found, metrics = gradient(tis(cap=cap), p=p, q=q)
    assert found == pytest.approx(-q * min(p / q, cap) * (1 - p), abs=1e-12)
    assert metrics["correction_cut"] == pytest.approx(q * max(p / q - cap, 0.0))


def test_without_correction_it_is_biased():
    found, _ = gradient(None, p=0.6, q=0.125)
    assert found == pytest.approx(-0.125 * 0.4)


def test_a_mask_drops_the_arm_instead():
    p, q = 0.6, 0.125
    found, metrics = gradient(mis(cap=2.0, floor=0.0), p=p, q=q, rewards=(1.0, 1.0))
    assert found == pytest.approx((1 - p) * p, abs=1e-12), "only arm 0 is left, weighed (1 - p) / (1 - q)"
    assert metrics["correction_cut"] == pytest.approx(p)


def test_the_weight_is_not_differentiated():
    """With q held, d(w)/dtheta would add -w R logp (1 - p); equal rewards of a baseline would not cancel."""
    found, _ = gradient(tis(cap=100.0), p=0.5, q=0.25, rewards=(1.0, 1.0))
    assert found == pytest.approx(0.0, abs=1e-12)


def test_effective_sample_size_in_closed_form():
    """Weights p/q and (1-p)/(1-q): mean 1, so ESS = 1 / (p^2/q + (1-p)^2/(1-q))."""
    p, q = 0.5, 0.25
    _, metrics = gradient(tis(cap=100.0), p=p, q=q)
    assert metrics["correction_mean"] == pytest.approx(1.0)
    assert metrics["correction_cut"] == 0.0
    assert effective_sample_size(metrics) == pytest.approx(1 / (p * p / q + (1 - p) ** 2 / (1 - q)))
    assert effective_sample_size(metrics) == pytest.approx(0.75)
