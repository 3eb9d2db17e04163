import math
from dataclasses import replace

import pytest
import torch
from helpers.pair_batches import pair, rollout_means

from handaxe.core.errors import InputError
from handaxe.losses.preference.bradley_terry import bradley_terry
from handaxe.losses.preference.plackett_luce import plackett_luce
from handaxe.ops.seeds import generator
from handaxe.testing.batches import random_batch, random_policy, small_batch, small_policy
from handaxe.testing.losses import differentiate

TOGETHER = "groups"


def BATCH(seed):
    """Groups of two to four rollouts with ranks, some of them equal."""
    batch = random_batch(seed, siblings=(2, 4), untrained=0.0)
    rank = torch.tensor(generator(seed, "rank").integers(0, 4, int(batch.rollout_B.max()) + 1))
    rank_BT = rank[batch.rollout_B].to(batch.adv_BT)[:, None].expand_as(batch.adv_BT).clone()
    return replace(batch, extras={**batch.extras, "rank": rank_BT})


def ranked(scores, ranks):
    batch = small_batch([[1.0] for _ in scores], extras={"rank": [[one] for one in ranks]})
    return small_policy(batch, -1.0, heads={"reward": [[[one] for one in scores]]}), batch


def test_the_docstring_example():
    found = differentiate(plackett_luce(), *ranked([2.0, 1.0, 0.0], [1.0, 2.0, 3.0]))
    assert found.value == pytest.approx(0.7208677, abs=1e-6) and found.metrics["first"] == 1.0
    turned = differentiate(plackett_luce(), *ranked([0.0, 1.0, 2.0], [3.0, 2.0, 1.0]))
    assert turned.value == pytest.approx(found.value)


def test_two_rollouts_are_a_bradley_terry_pair():
    out, batch = pair(1.0, 0.5)
    batch = replace(batch, extras={"rank": torch.tensor([[0.0, 1.0], [0.0, 2.0]])})
    assert differentiate(plackett_luce(), out, batch).value == pytest.approx(
        differentiate(bradley_terry(), out, replace(batch, extras={})).value
    )


@pytest.mark.parametrize("seed", range(3))
def test_it_equals_a_slow_loop(seed):
    batch = BATCH(seed)
    out = random_policy(batch, seed)
    score = rollout_means(out, batch)
    groups, value = {}, 0.0
    for row in range(len(batch)):
        rollout = int(batch.rollout_B[row])
        rank = float(batch.extras["rank"][row][batch.mask_BT[row]][0]) if batch.mask_BT[row].any() else None
        if rank is not None:
            groups.setdefault(int(batch.group_B[row]), {})[rollout] = rank
    for ranks in groups.values():
        order = sorted(ranks, key=lambda one: (ranks[one], one))
        for i, one in enumerate(order):
            rest = sum(math.exp(float(score[other])) for other in order[i:])
            value -= math.log(math.exp(float(score[one])) / rest)
    assert differentiate(plackett_luce(), out, batch).value == pytest.approx(value / len(groups), abs=1e-9)


def test_several_outputs_and_missing_ranks_are_named():
    batch = BATCH(0)
    out = random_policy(batch, 0)
    with pytest.raises(InputError, match="the head 'gaussian' has 2 outputs"):
        plackett_luce(head="gaussian")(out, batch)
    with pytest.raises(InputError, match="rank"):
        plackett_luce()(out, replace(batch, extras={}))
