"""Batches for losses on pairs, lists and labels: random ones with extras, and small ones by hand."""

from dataclasses import replace

import torch

from handaxe.ops.seeds import generator
from handaxe.testing.batches import random_batch, small_batch, small_policy


def pairs_with_strengths(seed):
    """Pairs of siblings, about a third of them ties."""
    batch = random_batch(seed, groups=5, siblings=(2, 2), untrained=0.0)
    strength = generator(seed, "strength").integers(0, 3, int(batch.rollout_B.max()) // 2 + 1)
    strength_B = torch.tensor(strength)[batch.rollout_B // 2].to(batch.adv_BT)
    return replace(batch, extras={**batch.extras, "strength": strength_B[:, None].expand_as(batch.adv_BT).clone()})


def with_labels(seed, *names):
    """A ragged batch with labels between 0 and 1, a quarter of them unknown."""
    batch = random_batch(seed)
    rng = generator(seed, "labels")
    extras = dict(batch.extras)
    for name in names:
        label_BT = torch.tensor(rng.random(batch.adv_BT.shape)).to(batch.adv_BT)
        extras[f"label/{name}"] = label_BT.where(torch.tensor(rng.random(batch.adv_BT.shape) > 0.25), float("nan"))
    return replace(batch, extras=extras)


def pair(chosen, rejected, strength=1.0):
    """Two rollouts of a read token each, with the scores of a head."""
    batch = small_batch([[1.0], [1.0]], extras={"strength": [[strength], [strength]]})
    return small_policy(batch, -1.0, heads={"reward": [[[chosen], [rejected]]]}), batch


def rollout_means(out, batch, head="reward"):
    """Rollout -> mean scores of its trained tokens, by loops."""
    sums, counts = {}, {}
    for row in range(len(batch)):
        for column in range(batch.mask_BT.shape[1]):
            if batch.mask_BT[row, column]:
                rollout = int(batch.rollout_B[row])
                sums[rollout] = sums.get(rollout, 0.0) + out.heads[head][row, column].detach()
                counts[rollout] = counts.get(rollout, 0) + 1
    return {rollout: sums[rollout] / counts[rollout] for rollout in sums}


def strengths(batch):
    """Pair -> strength, by loops."""
    found = {}
    for row in range(len(batch)):
        for column in range(batch.mask_BT.shape[1]):
            if batch.mask_BT[row, column]:
                found[int(batch.rollout_B[row]) // 2] = float(batch.extras["strength"][row, column])
    return found
