"""The term on a channel, and HDPO's dual loss by hand, where a sum of the two advantages is another loss."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from handaxe.core.errors import InputError
from handaxe.losses.policy import policy
from handaxe.losses.ratios.token import token
from handaxe.losses.reductions.rollout_mean import rollout_mean
from handaxe.losses.reductions.token_mean import token_mean
from handaxe.losses.surrogates.clip import clip
from handaxe.ops.seeds import generator
from handaxe.papers.hdpo.channel_loss import channel_loss
from handaxe.testing.batches import random_batch, small_batch, small_policy
from handaxe.testing.losses import check_loss, differentiate
from handaxe.training.loop.denominators import add_denominators

PARTS = {"ratio": token(), "surrogate": clip(), "reduction": token_mean()}
EXAMPLE = {"channel": "second", "coefficient": 0.15, **PARTS}


def BATCH(seed):
    """A ragged batch whose second advantage is 0 in about every second rollout, and in some rows of the others."""
    batch = random_batch(seed, groups=4, left_out=0.2)
    rng = generator("test channel_loss", seed)
    second_BT = torch.tensor(rng.standard_normal(tuple(batch.mask_BT.shape)))
    silent = torch.tensor(rng.random(int(batch.rollout_B.max()) + 1) < 0.5)
    zero_B = silent[batch.rollout_B] | torch.tensor(rng.random(len(batch)) < 0.3)
    second_BT = torch.where(batch.mask_BT & ~zero_B[:, None], second_BT, 0.0)
    return add_denominators(replace(batch, extras={**batch.extras, "advantage/second": second_BT}))


def rows(values):
    return [[value] for value in values]


def batch_of(main, second, ratio):
    """A rollout of one token each."""
    old = [-1.0 - float(np.log(r)) for r in ratio]
    batch = small_batch(rows(main), old=rows(old), extras={"advantage/second": rows(second)})
    batch = add_denominators(batch)
    return small_policy(batch, -1.0), batch


def test_channel_loss_averages_over_rollouts_with_a_nonzero_advantage():
    out, batch = batch_of([0, 0], [1, 0], [1.5, 1])
    found = differentiate(channel_loss(**EXAMPLE | {"coefficient": 0.5}), out, batch)
    assert found.value == pytest.approx(-0.6)
    assert found.metrics == pytest.approx({"second_loss": -1.2, "second_share": 0.5})


ACCURACY, TOOL = [0.5, 0.5, 0.5, -1.5], [1.0911, -0.2182, -0.8729, 0.0]


@pytest.mark.parametrize("reduction", [token_mean(), rollout_mean()])
def test_on_policy_two_losses_differ_from_a_sum_of_advantages_by_their_denominators(reduction):
    out, batch = batch_of(ACCURACY, TOOL, [1, 1, 1, 1])
    parts = PARTS | {"reduction": reduction}
    dual = differentiate(policy(**parts, terms=[channel_loss(channel="second", coefficient=0.15, **parts)]), out, batch)
    got = -dual.gradients["logp"][batch.mask_BT]
    wanted = [a / 4 + 0.15 * b / 3 for a, b in zip(ACCURACY, TOOL)]
    assert got.tolist() == pytest.approx(wanted)
    summed = [(a + 0.15 * b) / 4 for a, b in zip(ACCURACY, TOOL)]
    assert wanted[0] == pytest.approx(0.179555) and summed[0] == pytest.approx(0.165916, abs=1e-6)


def test_off_policy_two_losses_differ_from_a_sum_of_advantages_by_their_clips():
    """The second attempt was right but took a call too many: its accuracy pushes up and is clipped at 1.2, its
    efficiency pushes down and is not. Their sum pushes up, so that it is clipped as a whole and nothing takes back."""
    out, batch = batch_of(ACCURACY, TOOL, [1, 1.5, 1, 1])
    dual = policy(**PARTS, terms=[channel_loss(channel="second", coefficient=0.15, **PARTS)])
    found = differentiate(dual, out, batch)
    gradient = found.gradients["logp"][batch.mask_BT].tolist()
    assert gradient[1] == pytest.approx(0.15 * 0.2182 * 1.5 / 3)
    summed, batch_of_sum = batch_of([a + 0.15 * b for a, b in zip(ACCURACY, TOOL)], [0] * 4, [1, 1.5, 1, 1])
    of_sum = differentiate(policy(**PARTS), summed, batch_of_sum)
    assert of_sum.gradients["logp"][batch.mask_BT].tolist()[1] == 0
    main = -(0.5 + 1.2 * 0.5 + 0.5 - 1.5) / 4
    tool = (-1.0911 + 1.5 * 0.2182 + 0.8729) / 3
    assert found.value == pytest.approx(main + 0.15 * tool)
    assert found.metrics["second_loss"] == pytest.approx(tool)


def test_a_channel_of_zeros_gives_zero_loss():
    out, batch = batch_of(ACCURACY, [0] * 4, [1, 1.5, 1, 1])
    found = differentiate(policy(**PARTS, terms=[channel_loss(**EXAMPLE)]), out, batch)
    alone = differentiate(policy(**PARTS), out, batch)
    assert found.value == alone.value and found.metrics["second_share"] == 0
    assert torch.equal(found.gradients["logp"], alone.gradients["logp"])


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("reduction", [token_mean(), rollout_mean()])
def test_channel_loss_equals_a_slow_loop(seed, reduction):
    batch = BATCH(seed)
    out = small_policy(batch, -1.0)
    found = differentiate(channel_loss(**EXAMPLE | {"reduction": reduction, "coefficient": 1.0}), out, batch)
    losses = {}
    for row, rollout in enumerate(batch.rollout_B.tolist()):
        for t in batch.mask_BT[row].nonzero()[:, 0].tolist():
            adv = float(batch.extras["advantage/second"][row, t])
            rho = float(np.exp(-1.0 - batch.old_logp_BT[row, t]))
            losses.setdefault(rollout, []).append((adv, max(-adv * rho, -adv * min(max(rho, 0.8), 1.2))))
    chosen = [[loss for _, loss in own] for own in losses.values() if any(adv for adv, _ in own)]
    flat = [loss for own in chosen for loss in own]
    wanted = np.mean(flat) if reduction.__qualname__.startswith("token") else np.mean([np.mean(own) for own in chosen])
    assert found.value == pytest.approx(float(wanted))


def test_channel_loss_meets_the_loss_contract_with_rollouts_as_units():
    check_loss(policy(**PARTS, terms=[channel_loss(**EXAMPLE | {"reduction": rollout_mean()})]), batch=BATCH(3))


def test_channel_loss_refuses_a_batch_without_the_channel():
    out, batch = batch_of([1], [1], [1])
    with pytest.raises(InputError, match="'advantage/other'"):
        channel_loss(**EXAMPLE | {"channel": "other"})(out, batch)
    with pytest.raises(InputError, match="add_denominators"):
        channel_loss(**EXAMPLE)(out, replace(batch, channels={}))
