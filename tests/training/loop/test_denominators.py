"""Denominators against a slow loop, on batches in which rollouts have several rows and some tokens do not train."""

from dataclasses import replace

import pytest
import torch

from handaxe.core.batch import Denominators
from handaxe.testing.batches import random_batch, small_batch
from handaxe.training.loop.denominators import add_denominators


def blank(batch):
    nothing = torch.zeros_like(batch.rollout_tokens_B)
    zeros = Denominators(0.0, 0.0, 0.0, 0.0, 0.0)
    return replace(batch, denominators=zeros, rollout_tokens_B=nothing, rollout_turns_B=nothing)


@pytest.mark.parametrize("left_out", [0.0, 0.4])
@pytest.mark.parametrize("seed", range(6))
def test_against_the_slow_count_of_the_batches_of_tests(seed, left_out):
    batch = random_batch(seed, left_out=left_out, under_mask=float("nan"))
    found = add_denominators(blank(batch))
    assert found.denominators == batch.denominators
    assert torch.equal(found.rollout_tokens_B, batch.rollout_tokens_B)
    assert torch.equal(found.rollout_turns_B, batch.rollout_turns_B)


def test_the_example():
    batch = small_batch([[1.0, 1.0, 1.0], [-1.0]], turn=[[0, 0, 1], [0]])
    found = add_denominators(blank(batch))
    assert found.denominators == (4, 2, 3, 1, 3)
    assert found.rollout_tokens_B.tolist() == [3, 1] and found.rollout_turns_B.tolist() == [2, 1]


def test_a_part_is_counted_anew():
    """Rollout numbers of a part need not begin at 0, nor be without gaps."""
    batch = small_batch([[1.0], [1.0, -1.0], [1.0]], rollout=[0, 4, 9], group=[0, 0, 3])
    found = add_denominators(batch.rows(torch.tensor([1, 2])))
    assert found.denominators == (3, 2, 2, 2, 2) and found.rollout_tokens_B.tolist() == [2, 1]


def test_nothing_at_all():
    batch = small_batch([[1.0]])
    found = add_denominators(replace(batch, mask_BT=torch.zeros_like(batch.mask_BT)))
    assert found.denominators == (0, 0, 0, 0, 0) and found.rollout_turns_B.tolist() == [0]


@pytest.mark.parametrize("seed", range(6))
def test_a_further_advantage_is_counted_over_the_rollouts_that_it_says_anything_of(seed):
    batch = random_batch(seed, left_out=0.3)
    torch.manual_seed(seed)
    silent = {r for r in batch.rollout_B.tolist() if torch.rand(()) < 0.5}
    more_BT = torch.randn(batch.mask_BT.shape, dtype=torch.float64)
    for row, rollout in enumerate(batch.rollout_B.tolist()):
        if rollout in silent:
            more_BT[row] = torch.where(batch.mask_BT[row], 0.0, 5.0)  # what stands off the mask says nothing
    found = add_denominators(replace(blank(batch), extras={"value": more_BT, "advantage/second": more_BT}))
    assert found.denominators == batch.denominators and list(found.channels) == ["advantage/second"]
    loud = torch.tensor([rollout not in silent for rollout in batch.rollout_B.tolist()])
    part = replace(batch, mask_BT=batch.mask_BT & loud[:, None], adv_BT=more_BT)
    assert found.channels["advantage/second"] == add_denominators(part).denominators
