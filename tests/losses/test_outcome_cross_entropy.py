import math

import pytest
import torch

from handaxe.core.errors import InputError
from handaxe.losses.outcome_cross_entropy import outcome_cross_entropy
from handaxe.testing.batches import random_batch, random_policy, small_batch, small_policy
from handaxe.testing.losses import differentiate

TOGETHER = "rollouts"


@pytest.mark.parametrize(("adv", "wanted", "sign"), [(1.0, 0.62096, 1), (-1.0, 0.77096, -1)])
def test_outcome_cross_entropy_matches_the_docstring_example(adv, wanted, sign):
    batch = small_batch([[adv, None, adv]], extras={"ref_logp": [[-3.0, None, -2.0]]})
    found = differentiate(outcome_cross_entropy(), small_policy(batch, [[-1.5, None, -0.5]]), batch)
    assert found.value == pytest.approx(wanted, abs=1e-5)
    assert found.metrics == {"loss": found.value, "accuracy": float(sign > 0), "margin": pytest.approx(sign * 0.15)}
    slope = -0.05 * sign / (1 + math.exp(sign * 0.15))
    assert found.gradients["logp"][batch.mask_BT].tolist() == pytest.approx([slope, slope])


@pytest.mark.parametrize("seed", range(3))
def test_outcome_cross_entropy_equals_a_slow_loop(seed):
    batch, beta = random_batch(seed), 0.3
    out = random_policy(batch, seed)
    reward: dict[int, float] = {}
    label: dict[int, float] = {}
    for row, rollout in enumerate(batch.rollout_B.tolist()):
        for t in batch.mask_BT[row].nonzero()[:, 0].tolist():
            apart = out.logp_BT[row, t].item() - batch.extras["ref_logp"][row, t].item()
            reward[rollout] = reward.get(rollout, 0.0) + beta * apart
            label[rollout] = label.get(rollout, 0.0) + batch.adv_BT[row, t].item()
    p = {k: 1 / (1 + math.exp(-r)) for k, r in reward.items()}
    wanted = sum(-math.log(p[k] if label[k] > 0 else 1 - p[k]) for k in p) / len(p)
    found = differentiate(outcome_cross_entropy(beta=beta), out, batch)
    assert found.value == pytest.approx(wanted, abs=1e-9)
    for row, rollout in enumerate(batch.rollout_B.tolist()):
        slope = beta * (p[rollout] - (label[rollout] > 0)) / len(p) if rollout in p else 0.0
        torch.testing.assert_close(found.gradients["logp"][row], slope * batch.mask_BT[row].double(), atol=1e-9, rtol=0)


def test_a_model_at_its_reference_has_accuracy_zero():
    batch = small_batch([[1.0], [-1.0, -1.0]], extras={"ref_logp": -1.0})
    found = differentiate(outcome_cross_entropy(), small_policy(batch, -1.0), batch)
    assert found.value == pytest.approx(math.log(2)) and found.metrics["accuracy"] == 0


def test_a_missing_reference_is_named():
    batch = small_batch([[1.0]])
    with pytest.raises(InputError, match="'ref_logp'"):
        outcome_cross_entropy()(small_policy(batch, -1.0), batch)
