"""GRPO, Dr. GRPO, DAPO, GSPO, CISPO, RLOO, PPO and REINFORCE++ as compositions, against loops in plain floats.

Each loop is written from the paper's formula over lists of numbers: a rollout is a list of tokens (all its rows one
after the other), a token knows its old, reference and new log-prob and the value head's numbers. Its gradient is a
formula too, and central differences on the loop's value are the third opinion.
"""

import math
from dataclasses import dataclass, replace

import pytest
import torch

from handaxe.losses.policy import policy
from handaxe.losses.ratios.sequence import sequence
from handaxe.losses.ratios.sequence_token import sequence_token
from handaxe.losses.ratios.token import token
from handaxe.losses.reductions.constant_length import constant_length
from handaxe.losses.reductions.rollout_mean import rollout_mean
from handaxe.losses.reductions.rollout_sum import rollout_sum
from handaxe.losses.reductions.token_mean import token_mean
from handaxe.losses.surrogates.clip import clip
from handaxe.losses.surrogates.dual_clip import dual_clip
from handaxe.losses.surrogates.reinforce import reinforce
from handaxe.losses.surrogates.truncated import truncated
from handaxe.losses.terms.entropy import entropy
from handaxe.losses.terms.kl import kl
from handaxe.losses.terms.value import value
from handaxe.testing.batches import random_batch, random_policy, small_batch, small_policy
from handaxe.testing.losses import differentiate


@dataclass
class Token:
    adv: float
    old: float
    ref: float
    logp: float
    entropy: float
    value: float
    value_old: float
    target: float
    where: tuple[int, int]


def rollouts_of(batch, out):
    """Rollouts with at least one trained token, as lists of tokens."""
    arrays = [batch.adv_BT, batch.old_logp_BT, batch.extras["ref_logp"], out.logp_BT, out.entropy(), out.value_BT]
    arrays += [batch.extras["value"], batch.extras["returns"]]
    lists, mask = [array.tolist() for array in arrays], batch.mask_BT.tolist()
    found: dict[int, list[Token]] = {}
    for row, rollout in enumerate(batch.rollout_B.tolist()):
        for t, trained in enumerate(mask[row]):
            if trained:
                found.setdefault(rollout, []).append(Token(*[array[row][t] for array in lists], where=(row, t)))
    return list(found.values())


def clipped(adv, rho, low, high):
    """PPO's loss of a token and the derivative with respect to log rho."""
    bounded = min(max(rho, 1 - low), 1 + high)
    if -adv * rho >= -adv * bounded:
        return -adv * rho, -adv * rho
    return -adv * bounded, 0.0


def ratio(x):
    return math.exp(x.logp - x.old)


def grpo(rollouts, held):
    total, slopes = 0.0, {}
    for tokens in rollouts:
        for x in tokens:
            loss, slope = clipped(x.adv, ratio(x), 0.2, 0.2)
            d = x.logp - x.ref
            loss, slope = loss + 0.04 * (math.exp(-d) - 1 + d), slope + 0.04 * (1 - math.exp(-d))
            total += loss / len(tokens) / len(rollouts)
            slopes[x.where] = slope / len(tokens) / len(rollouts)
    return total, slopes


def dr_grpo(rollouts, held):
    total, slopes = 0.0, {}
    for tokens in rollouts:
        for x in tokens:
            loss, slope = clipped(x.adv, ratio(x), 0.2, 0.2)
            total += loss / 32 / len(rollouts)
            slopes[x.where] = slope / 32 / len(rollouts)
    return total, slopes


def dapo(rollouts, held):
    count = sum(len(tokens) for tokens in rollouts)
    total, slopes = 0.0, {}
    for tokens in rollouts:
        for x in tokens:
            loss, slope = clipped(x.adv, ratio(x), 0.2, 0.28)
            total += loss / count
            slopes[x.where] = slope / count
    return total, slopes


def gspo(rollouts, held):
    total, slopes = 0.0, {}
    for tokens in rollouts:
        s = math.exp(sum(x.logp - x.old for x in tokens) / len(tokens))
        loss, slope = clipped(tokens[0].adv, s, 0.05, 0.1)
        total += loss / len(rollouts)
        for x in tokens:
            slopes[x.where] = slope / len(tokens) / len(rollouts)
    return total, slopes


def cispo(rollouts, held):
    """`held` are the log-probs of the weights, constant under changes of the token's log-probs."""
    count = sum(len(tokens) for tokens in rollouts)
    total, slopes = 0.0, {}
    for tokens in rollouts:
        for x in tokens:
            weight = min(math.exp(held[x.where] - x.old), 1.2)
            total -= weight * x.adv * x.logp / count
            slopes[x.where] = -weight * x.adv / count
    return total, slopes


def rloo(rollouts, held):
    total, slopes = 0.0, {}
    for tokens in rollouts:
        total -= tokens[0].adv * sum(x.logp for x in tokens) / len(rollouts)
        for x in tokens:
            slopes[x.where] = -x.adv / len(rollouts)
    return total, slopes


def ppo(rollouts, held):
    count = sum(len(tokens) for tokens in rollouts)
    total, slopes = 0.0, {}
    for tokens in rollouts:
        for x in tokens:
            loss, slope = clipped(x.adv, ratio(x), 0.2, 0.2)
            if x.adv < 0 and loss > -3 * x.adv:
                loss, slope = -3 * x.adv, 0.0
            near = min(max(x.value, x.value_old - 0.5), x.value_old + 0.5)
            error = max((x.value - x.target) ** 2, (near - x.target) ** 2)
            total += (loss + 0.5 * 0.5 * error - 0.01 * x.entropy) / count
            slopes[x.where] = slope / count
    return total, slopes


def reinforce_plus_plus(rollouts, held):
    count = sum(len(tokens) for tokens in rollouts)
    total, slopes = 0.0, {}
    for tokens in rollouts:
        for x in tokens:
            loss, slope = clipped(x.adv, ratio(x), 0.2, 0.2)
            total, slopes[x.where] = total + loss / count, slope / count
    return total, slopes


# How each algorithm makes advantages of a group's rewards; the credit folder has these, here they are plain loops.


def standardised(rewards):
    mean = sum(rewards) / len(rewards)
    if len(rewards) == 1:
        return [0.0]
    std = math.sqrt(sum((r - mean) ** 2 for r in rewards) / (len(rewards) - 1))
    return [(r - mean) / (std + 1e-6) for r in rewards]


def centred(rewards):
    return [r - sum(rewards) / len(rewards) for r in rewards]


def leave_one_out(rewards):
    if len(rewards) == 1:
        return rewards
    return [r - (sum(rewards) - r) / (len(rewards) - 1) for r in rewards]


def with_advantages(batch, credit):
    """The reward is a rollout's index modulo 3; None keeps the random advantages of tokens."""
    if credit is None:
        return batch
    groups: dict[int, list[int]] = {}
    for rollout, group in zip(batch.rollout_B.tolist(), batch.group_B.tolist()):
        if rollout not in groups.setdefault(group, []):
            groups[group].append(rollout)
    advantage = {}
    for members in groups.values():
        advantage |= dict(zip(members, credit([float(rollout % 3) for rollout in members])))
    per_row = torch.tensor([advantage[rollout] for rollout in batch.rollout_B.tolist()], dtype=torch.float64)
    return replace(batch, adv_BT=torch.where(batch.mask_BT, per_row[:, None], math.nan))


CASES = {
    "GRPO": (
        policy(
            ratio=token(),
            surrogate=clip(),
            reduction=rollout_mean(),
            terms=[kl(coefficient=0.04, reduction=rollout_mean())],
        ),
        grpo,
        standardised,
    ),
    "Dr. GRPO": (
        policy(ratio=token(), surrogate=clip(), reduction=constant_length(length=32)),
        dr_grpo,
        centred,
    ),
    "DAPO": (policy(ratio=token(), surrogate=clip(eps_high=0.28), reduction=token_mean()), dapo, standardised),
    "GSPO": (
        policy(ratio=sequence(), surrogate=clip(eps_low=0.05, eps_high=0.1), reduction=rollout_mean()),
        gspo,
        standardised,
    ),
    "GSPO-token": (
        policy(ratio=sequence_token(), surrogate=clip(eps_low=0.05, eps_high=0.1), reduction=rollout_mean()),
        gspo,
        standardised,
    ),
    "CISPO": (policy(ratio=token(), surrogate=truncated(), reduction=token_mean()), cispo, standardised),
    "RLOO": (policy(ratio=token(), surrogate=reinforce(), reduction=rollout_sum()), rloo, leave_one_out),
    "PPO": (
        policy(
            ratio=token(),
            surrogate=dual_clip(),
            reduction=token_mean(),
            terms=[value(coefficient=0.5), entropy(coefficient=0.01)],
        ),
        ppo,
        None,
    ),
    "REINFORCE++": (policy(ratio=token(), surrogate=clip(), reduction=token_mean()), reinforce_plus_plus, None),
}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", CASES)
def test_compositions_equal_slow_loops(name, seed):
    loss, slow, credit = CASES[name]
    batch = with_advantages(random_batch(seed, under_mask=math.nan), credit)
    out = random_policy(batch, seed, drift=0.5, under_mask=math.nan)
    rollouts = rollouts_of(batch, out)
    held = {x.where: x.logp for tokens in rollouts for x in tokens}
    wanted, slopes = slow(rollouts, held)
    found = differentiate(loss, out, batch)
    assert found.value == pytest.approx(wanted, abs=1e-6)
    wanted_BT = torch.zeros_like(batch.adv_BT)
    for where, slope in slopes.items():
        wanted_BT[where] = slope
    torch.testing.assert_close(found.gradients["logp"], wanted_BT, atol=1e-6, rtol=0)
    assert wanted_BT.any(), "the case is about something"

    step = 1e-6
    for x in [tokens[len(tokens) // 2] for tokens in rollouts]:
        x.logp += step
        above, _ = slow(rollouts, held)
        x.logp -= 2 * step
        below, _ = slow(rollouts, held)
        x.logp += step
        assert (above - below) / (2 * step) == pytest.approx(found.gradients["logp"][x.where].item(), abs=1e-6)


def test_slow_loops_cover_both_sides_of_the_clip():
    """Otherwise the comparison above would say little about clipping."""
    batch = random_batch(0)
    tokens = [x for tokens in rollouts_of(batch, random_policy(batch, 0, drift=0.5)) for x in tokens]
    outcomes = {(x.adv > 0, clipped(x.adv, ratio(x), 0.2, 0.2)[1] == 0) for x in tokens}
    assert len(outcomes) == 4


def test_value_loss_of_ppo_has_the_slow_gradient():
    loss, _, _ = CASES["PPO"]
    batch = random_batch(2, under_mask=math.nan)
    out = random_policy(batch, 2, under_mask=math.nan)
    found, count = differentiate(loss, out, batch), batch.denominators.tokens
    for x in [x for tokens in rollouts_of(batch, out) for x in tokens]:
        near = min(max(x.value, x.value_old - 0.5), x.value_old + 0.5)
        inside = (x.value - x.target) ** 2 >= (near - x.target) ** 2
        slope = 0.5 * (x.value - x.target) / count if inside else 0.0
        assert found.gradients["value"][x.where].item() == pytest.approx(slope, abs=1e-9)
        assert found.gradients["entropy"][x.where].item() == pytest.approx(-0.01 / count, abs=1e-12)


def test_a_batch_of_two_sequences_by_hand():
    """Trap 35. Rewards 1 and 0; row 0 has 2 tokens of ratio 1.1, row 1 has 6 of ratio 0.9, with a tool between.

    GRPO, sample std: A = 0.70711 and -0.70711. Losses: -0.70711 * 1.1 = -0.77782 and 0.70711 * 0.9 = 0.63640.
    GRPO's mean of means  (-0.77782 + 0.63640) / 2           = -0.0707107
    DAPO's token mean     (2 * -0.77782 + 6 * 0.63640) / 8   =  0.2828427
    Dr. GRPO, length 10, A = 0.5 and -0.5: (2 * -0.55 + 6 * 0.45) / 10 / 2 = 0.08
    GSPO: ratios are the same as the tokens', so GRPO's number.
    """

    def both(adv):
        return small_batch([[adv, adv], [-adv, -adv, None, -adv, -adv, -adv, -adv]], old=-3.0)

    up, down = math.log(1.1) - 3, math.log(0.9) - 3
    logp = [[up] * 2, [down, down, None, down, down, down, down]]
    batch, half = both(1 / math.sqrt(2)), both(0.5)
    grpo_loss = policy(ratio=token(), surrogate=clip(), reduction=rollout_mean())
    gspo_loss = policy(ratio=sequence(), surrogate=clip(), reduction=rollout_mean())
    dapo_loss, dr_loss = CASES["DAPO"][0], policy(ratio=token(), surrogate=clip(), reduction=constant_length(length=10))
    for loss, one, wanted in [
        (grpo_loss, batch, -0.0707107),
        (gspo_loss, batch, -0.0707107),
        (dapo_loss, batch, 0.2828427),
        (dr_loss, half, 0.08),
    ]:
        assert differentiate(loss, small_policy(one, logp), one).value == pytest.approx(wanted, abs=1e-7)
