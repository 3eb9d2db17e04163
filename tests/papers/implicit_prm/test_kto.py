import math

import pytest
import torch

from handaxe.core.errors import InputError
from handaxe.papers.implicit_prm.kto import kto
from handaxe.testing.batches import random_batch, random_policy, small_batch, small_policy
from handaxe.testing.losses import differentiate

TOGETHER = "rollouts"


def BATCH(seed):
    batch = random_batch(seed)
    batch.extras["anchor"] = torch.full_like(batch.adv_BT, 0.7 * seed)
    return batch


@pytest.mark.parametrize(("adv", "wanted", "sign"), [(1.0, 0.47502, 1), (-1.0, 0.52498, -1)])
def test_kto_matches_the_docstring_example(adv, wanted, sign):
    batch = small_batch([[adv, None, adv]], extras={"ref_logp": [[-3.0, None, -2.0]], "anchor": 1.0})
    found = differentiate(kto(), small_policy(batch, [[-1.5, None, -0.5]]), batch)
    assert found.value == pytest.approx(wanted, abs=1e-5)
    assert found.metrics == {"loss": found.value, "accuracy": float(sign > 0), "anchor": pytest.approx(0.05)}
    slope = -0.05 * sign * wanted * (1 - wanted)
    assert found.gradients["logp"][batch.mask_BT].tolist() == pytest.approx([slope, slope], abs=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_kto_equals_a_slow_loop(seed):
    batch, beta = BATCH(seed), 0.3
    right, wrong = 1.5, 0.5
    out = random_policy(batch, seed)
    reward: dict[int, float] = {}
    label: dict[int, float] = {}
    for row, rollout in enumerate(batch.rollout_B.tolist()):
        for t in batch.mask_BT[row].nonzero()[:, 0].tolist():
            apart = out.logp_BT[row, t].item() - batch.extras["ref_logp"][row, t].item()
            reward[rollout] = reward.get(rollout, 0.0) + beta * (apart)
            label[rollout] = label.get(rollout, 0.0) + batch.adv_BT[row, t].item()
    z = beta * 0.7 * seed
    total = 0.0
    for rollout, r in reward.items():
        if label[rollout] > 0:
            total += right * (1 - 1 / (1 + math.exp(z - r)))
        else:
            total += wrong * (1 - 1 / (1 + math.exp(r - z)))
    found = differentiate(kto(beta=beta, right=right, wrong=wrong), out, batch)
    assert found.value == pytest.approx(total / len(reward), abs=1e-9)


def test_far_from_the_anchor_the_slope_falls():
    """Cross-entropy keeps a slope of beta on a wrong rollout, however high its reward."""
    batch = small_batch([[-1.0]], extras={"ref_logp": -400.0, "anchor": 0.0})
    found = differentiate(kto(), small_policy(batch, -1.0), batch)
    assert abs(found.gradients["logp"]).max() < 1e-8 and found.value == pytest.approx(1.0)


@pytest.mark.parametrize("wrong", [{"beta": 0.0}, {"right": -1.0}, {"wrong": -0.1}])
def test_numbers_out_of_range_are_named(wrong):
    with pytest.raises(InputError, match="beta above 0 and weights from 0"):
        kto(**wrong)


def test_a_missing_anchor_is_named():
    batch = small_batch([[1.0]], extras={"ref_logp": -1.0})
    with pytest.raises(InputError, match="'anchor'"):
        kto()(small_policy(batch, -1.0), batch)
