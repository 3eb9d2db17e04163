import math
from dataclasses import replace

import pytest
import torch

from handaxe.core.batch import CHANNEL
from handaxe.core.errors import InputError
from handaxe.losses.adjustments.widened_clip import widened_clip
from handaxe.losses.policy import policy
from handaxe.losses.ratios.token import token
from handaxe.losses.reductions.token_mean import token_mean
from handaxe.losses.surrogates.clip import clip
from handaxe.losses.surrogates.unclipped import unclipped
from handaxe.testing.batches import random_batch, random_policy, small_batch, small_policy
from handaxe.testing.losses import differentiate
from handaxe.training.loop.denominators import add_denominators


def roomy(batch, room_BT=None):
    room_BT = torch.rand(batch.adv_BT.shape, generator=torch.Generator().manual_seed(0)) if room_BT is None else room_BT
    room_BT = room_BT.to(batch.adv_BT.dtype)
    return add_denominators(replace(batch, extras={**batch.extras, CHANNEL + "room": room_BT}))


def BATCH(seed):
    return roomy(random_batch(seed, left_out=0.3 if seed % 2 == 0 else 0.0))


def loss(**options):
    return policy(ratio=token(), surrogate=unclipped(), reduction=token_mean(), adjustments=[widened_clip(**options)])


def of_one(adv, ratio, room):
    batch = small_batch([[adv]], old=[[-2.0]], extras={CHANNEL + "room": [[room]]})
    return differentiate(loss(), small_policy(batch, -2.0 + math.log(ratio)), add_denominators(batch))


@pytest.mark.parametrize("room, bound", [(1.0, 1.3), (0.6, 1.26), (0.0, 1.2)])
def test_widened_clip_matches_the_docstring_example(room, bound):
    found = of_one(1.0, 1.5, room)
    assert found.value == pytest.approx(-bound)
    assert found.metrics["adjusted_fraction"] == 1.0 and not found.gradients["logp"].any()
    assert of_one(1.0, bound - 0.01, room).value == pytest.approx(-(bound - 0.01))
    assert of_one(-1.0, 0.5, room).value == pytest.approx(0.8)


@pytest.mark.parametrize("seed", range(4))
def test_widened_clip_equals_a_slow_loop(seed):
    batch = BATCH(seed)
    out = random_policy(batch, seed)
    total = 0.0
    for b, t in batch.mask_BT.nonzero().tolist():
        adv = float(batch.adv_BT[b, t])
        ratio = math.exp(float(out.logp_BT[b, t].detach() - batch.old_logp_BT[b, t]))
        most = 1 + 0.2 + 0.1 * float(batch.extras[CHANNEL + "room"][b, t])
        total += max(-adv * ratio, -adv * min(max(ratio, 0.8), most))
    assert differentiate(loss(), out, batch).value == pytest.approx(total / float(batch.mask_BT.sum()), rel=1e-5)


def test_without_room_it_equals_clip():
    batch = roomy(random_batch(3), torch.zeros(random_batch(3).adv_BT.shape))
    out = random_policy(batch, 3)
    plain = policy(ratio=token(), surrogate=clip(), reduction=token_mean())
    assert differentiate(loss(), out, batch).value == pytest.approx(differentiate(plain, out, batch).value)


def test_wrong_arguments_and_a_missing_channel_are_errors():
    with pytest.raises(InputError, match="eps_low in .0, 1."):
        widened_clip(widening=-1)
    with pytest.raises(InputError, match="advantage/room"):
        batch = small_batch([[1.0]])
        differentiate(loss(), small_policy(batch, -0.5), batch)
