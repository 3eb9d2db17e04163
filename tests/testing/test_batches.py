import math

import pytest
import torch

from handaxe.testing.batches import random_batch, random_policy, small_batch, small_policy


def test_small_batch_gives_the_example():
    batch = small_batch([[1.0, None, 1.0], [-1.0]], turn=[[0, 0, 1], [0]])
    assert batch.mask_BT.tolist() == [[False, True, False, True], [False, True, False, False]]
    assert batch.attend_BT.tolist() == [[True] * 4, [True, True, False, False]]
    assert batch.denominators == (3.0, 2.0, 3.0, 1.0, 2.0)
    assert batch.rollout_turns_B.tolist() == [2.0, 1.0]
    assert batch.rollout_tokens_B.tolist() == [2.0, 1.0]
    assert batch.adv_BT[batch.mask_BT].tolist() == [1.0, 1.0, -1.0]
    assert batch.adv_BT[~batch.mask_BT].isnan().all()


def test_small_batch_counts_tokens_over_rows_of_a_rollout():
    batch = small_batch([[1.0], [1.0, 1.0], [1.0]], rollout=[0, 0, 1])
    assert batch.rollout_tokens_B.tolist() == [3.0, 3.0, 1.0]
    assert batch.denominators == (4.0, 2.0, 2.0, 1.0, 4.0)
    assert batch.rollout_turns_B.tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("seed", range(5))
def test_random_batch_can_leave_tokens_untrained(seed):
    """Rollouts have fewer tokens each; turns and positive advantages count trained tokens only."""
    batch = random_batch(seed, left_out=0.5, untrained=0.0)
    whole = random_batch(seed, untrained=0.0)
    assert 0 < batch.denominators.tokens < whole.denominators.tokens and len(batch) == len(whole)
    assert batch.denominators.positive == (batch.adv_BT[batch.mask_BT] > 0).sum()
    assert batch.denominators.turns <= whole.denominators.turns


def test_small_policy_takes_gradients():
    batch = small_batch([[1.0, None, 1.0]])
    out = small_policy(batch, [[-0.5, None, -0.7]], entropy=0.3, value=[[1.0, None, 2.0]])
    assert out.logp_BT[batch.mask_BT].tolist() == [-0.5, -0.7]
    assert out.value_BT[batch.mask_BT].tolist() == [1.0, 2.0]
    assert out.entropy() is out.entropy()
    assert out.entropy().requires_grad


@pytest.mark.parametrize("seed", range(5))
def test_random_batch_is_valid(seed):
    batch = random_batch(seed, under_mask=math.nan)
    assert not batch.mask_BT[:, 0].any()
    assert not (batch.mask_BT & ~batch.attend_BT).any()
    assert (batch.turn_BT[batch.mask_BT] >= 0).all()
    lengths = batch.attend_BT.sum(1)
    assert all(batch.attend_BT[i, :n].all() for i, n in enumerate(lengths.tolist()))
    for tensor in (batch.adv_BT, batch.old_logp_BT, batch.behaviour_logp_BT, *batch.extras.values()):
        assert tensor[~batch.mask_BT].isnan().all()
        assert tensor[batch.mask_BT].isfinite().all()
    assert batch.denominators.tokens == batch.mask_BT.sum()


def test_random_batch_is_ragged_and_seeded():
    a, b = random_batch(1), random_batch(1)
    assert torch.equal(a.ids_BT, b.ids_BT)
    assert torch.equal(a.adv_BT, b.adv_BT)
    assert random_batch(2).ids_BT.shape != a.ids_BT.shape
    assert len(a) > len(a.rollout_B.unique()), "some rollout has several rows"
    assert len(a.attend_BT.sum(1).unique()) > 1
    assert random_batch(1, dtype=torch.float32).adv_BT.dtype == torch.float32
    assert torch.equal(random_policy(a, 0).logp_BT, random_policy(a, 0).logp_BT)


def test_random_batch_can_hold_pairs():
    batch = random_batch(3, siblings=(2, 2), untrained=0.0)
    assert torch.equal(batch.rollout_B // 2, batch.group_B)
    assert batch.denominators.rollouts == 6.0
