import pytest
import torch

from handaxe.losses.policy import policy
from handaxe.losses.ratios.sequence import sequence
from handaxe.losses.ratios.sequence_token import sequence_token
from handaxe.losses.reductions.rollout_mean import rollout_mean
from handaxe.losses.surrogates.clip import clip
from handaxe.testing.batches import random_batch, random_policy, small_batch, small_policy
from handaxe.testing.losses import differentiate

TOGETHER = "rollouts"


def loss(ratio):
    return policy(ratio=ratio, surrogate=clip(), reduction=rollout_mean())


def test_value_is_of_the_sequence_and_gradient_of_the_token():
    batch = small_batch([[1.0, 1.0, 1.0]])
    out = small_policy(batch, [[-0.9, -0.7, -1.1]])
    ratio_BT = sequence_token()(out, batch)
    assert ratio_BT.exp()[batch.mask_BT].tolist() == pytest.approx([1.1051709] * 3)
    ratio_BT[0, 2].backward()
    assert out.logp_BT.grad.tolist() == [[0.0, 0.0, 1.0, 0.0]]


def test_tokens_follow_their_own_advantages():
    """L = mean_t of -A_t s with s = exp(0.1); d L / d logp_t = -A_t s / 3. `sequence` would mix them."""
    batch = small_batch([[1.0, -1.0, 0.5]])
    found = differentiate(loss(sequence_token()), small_policy(batch, [[-0.9, -0.7, -1.1]]), batch)
    s = 1.1051709
    assert found.value == pytest.approx(-0.5 * s / 3)
    assert found.gradients["logp"][batch.mask_BT].tolist() == pytest.approx([-s / 3, s / 3, -0.5 * s / 3])
    mixed = differentiate(loss(sequence()), small_policy(batch, [[-0.9, -0.7, -1.1]]), batch)
    assert mixed.gradients["logp"][batch.mask_BT].tolist() == pytest.approx([-0.5 * s / 9] * 3)


@pytest.mark.parametrize("seed", range(3))
def test_equal_advantages_give_the_sequence_loss(seed):
    batch = random_batch(seed)
    per_rollout = torch.linspace(-1, 1, int(batch.rollout_B.max()) + 1, dtype=torch.float64)
    batch = batch.map(lambda tensor: tensor)
    batch.adv_BT[:] = per_rollout[batch.rollout_B][:, None]
    out = random_policy(batch, seed)
    a, b = differentiate(loss(sequence()), out, batch), differentiate(loss(sequence_token()), out, batch)
    assert a.value == pytest.approx(b.value, abs=1e-12)
    torch.testing.assert_close(a.gradients["logp"], b.gradients["logp"], atol=1e-12, rtol=0)


def test_clamp_is_an_upper_bound():
    batch = small_batch([[1.0]], old=[[-100.0]])
    assert sequence_token()(small_policy(batch, -1.0), batch)[0, 1].item() == 10.0
    low = small_batch([[1.0]], old=-1.0)
    assert sequence_token()(small_policy(low, -13.0), low)[0, 1].item() == -12.0
