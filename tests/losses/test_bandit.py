"""Trap 17: a two-armed bandit whose sampler is not the trained policy, with every expectation in closed form.

Arm 1 is pulled with probability p = sigmoid(theta) by the policy and q by the sampler; it pays 1, arm 0 pays 0. Sixteen
rollouts hold the arms in exactly the sampler's proportions, so a mean over them is an expectation.

    J = p, dJ/dtheta = p (1 - p); E_q[p_a / q_a] = 1
    sum over arms of q_a w_a R_a dlog pi_a / dtheta = q min(p / q, C) (1 - p)           R_1 = 1, R_0 = 0
"""

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch

from handaxe.core.batch import PolicyOut
from handaxe.core.records import Advantages, Branch, RatedGroup
from handaxe.losses.corrections.mis import mis
from handaxe.losses.corrections.tis import tis
from handaxe.losses.parts.token_metrics import effective_sample_size
from handaxe.losses.policy import policy
from handaxe.losses.ratios.token import token
from handaxe.losses.reductions.rollout_sum import rollout_sum
from handaxe.losses.surrogates.reinforce import reinforce
from handaxe.losses.surrogates.unclipped import unclipped
from handaxe.papers.ipa.tapered import tapered
from handaxe.papers.rex_rag.behaviour_mixture import behaviour_mixture
from handaxe.testing.batches import small_batch
from handaxe.testing.make_records import make_group, make_scores, make_trajectory
from handaxe.training.loop.batch import make_batch

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
    return through(batch, [[arm] for arm in arms], p=p, surrogate=reinforce(), correction=correction)


def through(batch, pulls, *, p, surrogate, correction=None):
    """dL/dtheta and the metrics at sigmoid(theta) = p of rows of pulls, which stand from column 1 on."""
    theta = torch.tensor(math.log(p / (1 - p)), dtype=torch.float64, requires_grad=True)
    sign_BT = torch.zeros(batch.mask_BT.shape, dtype=torch.float64)
    sign_BT[batch.mask_BT] = torch.tensor([1.0 if arm else -1.0 for row in pulls for arm in row], dtype=torch.float64)
    logp_BT = torch.nn.functional.logsigmoid(sign_BT * theta)
    out = PolicyOut(logp_BT, lambda: torch.zeros_like(logp_BT))
    loss = policy(ratio=token(), surrogate=surrogate, reduction=rollout_sum(), correction=correction)
    value, metrics, _ = loss(out, batch)
    value.backward()
    return theta.grad.item(), metrics


@pytest.mark.parametrize(("p", "q"), [(0.5, 0.25), (0.75, 0.5), (0.25, 0.75), (0.6, 0.125)])
def test_without_a_cap_the_gradient_is_exact(p, q):
    found, _ = gradient(tis(cap=100.0), p=p, q=q)
    assert found == pytest.approx(-p * (1 - p), abs=1e-12)


@pytest.mark.parametrize("cap", [1.0, 1.5, 2.0, 3.0, 4.8, 10.0])
def test_with_a_cap_the_gradient_is_truncated(cap):
    p, q = 0.6, 0.125
    found, metrics = gradient(tis(cap=cap), p=p, q=q)
    assert found == pytest.approx(-q * min(p / q, cap) * (1 - p), abs=1e-12)
    assert metrics["correction_cut"] == pytest.approx(q * max(p / q - cap, 0.0))


def test_without_correction_the_gradient_is_biased():
    found, _ = gradient(None, p=0.6, q=0.125)
    assert found == pytest.approx(-0.125 * 0.4)


def test_a_mask_drops_the_arm():
    p, q = 0.6, 0.125
    found, metrics = gradient(mis(cap=2.0, floor=0.0), p=p, q=q, rewards=(1.0, 1.0))
    assert found == pytest.approx((1 - p) * p, abs=1e-12), "only arm 0 is left, weighed (1 - p) / (1 - q)"
    assert metrics["correction_cut"] == pytest.approx(p)


def test_the_weight_has_no_gradient():
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


def turns(arms, *, p, q, length):
    """Rows of a turn with `length` pulls, repeated by the sampler's frequency; old log-probs of p, behaviour of q."""
    rows = list(product(arms, repeat=length))
    old, behaviour = {1: math.log(p), 0: math.log(1 - p)}, {1: math.log(q), 0: math.log(1 - q)}
    batch = small_batch(
        [[float(arm) for arm in row] for row in rows],
        old=[[old[arm] for arm in row] for row in rows],
        behaviour=[[behaviour[arm] for arm in row] for row in rows],
    )
    return batch, rows


@pytest.mark.parametrize(("p", "q"), [(0.5, 0.25), (0.75, 0.5), (0.25, 0.75), (0.6, 0.25)])
def test_single_token_turns_have_mean_weight_1_and_the_exact_gradient(p, q):
    arms = [1] * round(4 * q) + [0] * round(4 * (1 - q))
    batch, rows = turns(arms, p=p, q=q, length=1)
    found, metrics = through(batch, rows, p=p, surrogate=reinforce(), correction=mis(cap=100.0, floor=0.0, unit="turn"))
    assert metrics["correction_mean"] == pytest.approx(1.0) and found == pytest.approx(-p * (1 - p))


@pytest.mark.parametrize(("p", "q"), [(0.5, 0.25), (0.75, 0.5), (0.6, 0.25)])
def test_a_turn_of_two_tokens_has_the_geometric_mean_as_weight(p, q):
    """sqrt(p_a p_b / (q_a q_b)), whose mean is B^2, B = sqrt(p q) + sqrt((1 - p)(1 - q)): below 1, so it is biased."""
    arms = [1] * round(4 * q) + [0] * round(4 * (1 - q))
    batch, rows = turns(arms, p=p, q=q, length=2)
    kept = mis(cap=100.0, floor=0.0, unit="turn")
    found, metrics = through(batch, rows, p=p, surrogate=reinforce(), correction=kept)
    close = math.sqrt(p * q) + math.sqrt((1 - p) * (1 - q))
    assert metrics["correction_mean"] == pytest.approx(close**2) and close < 1
    assert found == pytest.approx(-2 * close * math.sqrt(p * q) * (1 - p))


def test_romes_window_keeps_turns_with_a_small_mismatch():
    """p 0.6, q 0.5: pairs of arms weigh 1.2, 0.98, 0.98 and 0.8; a narrower window drops the first and the last."""
    batch, rows = turns([1, 0], p=0.6, q=0.5, length=2)
    found, metrics = through(
        batch, rows, p=0.6, surrogate=reinforce(), correction=mis(cap=1.1, floor=0.9, unit="turn", weigh=False)
    )
    assert metrics["correction_mean"] == 0.5 and found == pytest.approx(-2 * 0.25 * 0.4), "of the mixed pairs' good arm"
    whole, _ = through(
        batch, rows, p=0.6, surrogate=reinforce(), correction=mis(cap=1.21, floor=0.79, unit="turn", weigh=False)
    )
    assert whole == pytest.approx(-2 * 0.5 * 0.4), "nothing is weighed: the sampler's own gradient"


@pytest.mark.parametrize(("p", "q"), [(0.5, 0.25), (0.75, 0.5), (0.25, 0.75), (0.6, 0.125)])
def test_tapered_weighs_bad_arms_by_their_ratio_up_to_1(p, q):
    """Good q (1 - p), whatever the ratio; bad (1 - q) min((1 - p) / (1 - q), 1) p."""
    arms = [1] * round(q * PULLS) + [0] * round((1 - q) * PULLS)
    old = {1: math.log(q), 0: math.log(1 - q)}
    batch = small_batch([[1.0 if arm else -1.0] for arm in arms], old=[[old[arm]] for arm in arms])
    found, metrics = through(batch, [[arm] for arm in arms], p=p, surrogate=tapered())
    assert found == pytest.approx(-(q * (1 - p) + min(1 - p, 1 - q) * p), abs=1e-12)
    assert metrics["ratio_mean"] == pytest.approx(1.0), "E_q[p / q]: the ratio is not 1 by construction"
    assert metrics["ratio_max"] == pytest.approx(max(p / q, (1 - p) / (1 - q))) and metrics["ratio_max"] > 1.2
    bad, _ = through(
        replace(batch, adv_BT=batch.adv_BT.clamp(max=0)), [[arm] for arm in arms], p=p, surrogate=tapered()
    )
    if p > q:
        assert bad == pytest.approx(-p * (1 - p)), "uncut, that is the exact gradient of not pulling the bad arm"


@pytest.mark.parametrize("now", [0.5, 0.75, 0.9])
def test_a_batch_with_a_quarter_of_forced_rollouts(now):
    """Twelve attempts of a policy that pulls arm 1 with 3/4, and four clones whose pull was put there, with 1/4.

    The weights of the former average to 1 / (1 - a) among them, so to 1 over the batch, and theirs is the exact
    gradient; a clone's come on top of it, now_a / ((1 - a) pi_a + a mu_a) each.
    """
    a, pi, mu = 0.25, {1: 0.75, 0: 0.25}, {1: 0.25, 0: 0.75}
    own, put, policy_now = [1] * 9 + [0] * 3, [1] + [0] * 3, {1: now, 0: 1 - now}
    firsts = [make_trajectory(layouts=["Up"], features={"old_logp": math.log(pi[arm])}) for arm in own]
    clones = []
    for arm in put:
        one = make_trajectory(layouts=["Uf"], features={"old_logp": math.log(pi[arm])})
        (sequence,) = one.sequences
        drawn = np.where(sequence.forced, math.log(mu[arm]), 0.0)
        forced = replace(sequence, behaviour_logp=drawn.astype(np.float32))
        clones.append(replace(one, branch_of=Branch("t/0", 0, 1), sequences=(forced,)))
    members = [replace(one, id=f"t/{k}") for k, one in enumerate([*firsts, *clones])]
    earned = [float(arm) for arm in [*own, *put]]
    advantages = Advantages(tuple((np.array([0.0, value]),) for value in earned))
    rated = RatedGroup.of(make_group(trajectories=members), make_scores([0.0] * 16), advantages)
    batch = make_batch(behaviour_mixture()([rated]), pad_id=0, dtype=torch.float64)
    found, metrics = through(batch, [[arm] for arm in [*own, *put]], p=now, surrogate=unclipped())
    mixed = {arm: (1 - a) * pi[arm] + a * mu[arm] for arm in (0, 1)}
    over = {arm: a * mu[arm] * policy_now[arm] / mixed[arm] for arm in (0, 1)}
    assert metrics["ratio_mean"] == pytest.approx(1 + sum(over.values()), rel=1e-6)
    assert found == pytest.approx(-(now + over[1]) * (1 - now), rel=1e-6)
