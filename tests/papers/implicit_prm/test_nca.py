import math

import pytest

from handaxe.core.errors import InputError
from handaxe.papers.implicit_prm.nca import nca
from handaxe.testing.batches import random_batch, random_policy, small_batch, small_policy
from handaxe.testing.losses import differentiate

TOGETHER = "rollouts"


def test_nca_matches_the_docstring_example():
    batch = small_batch([[1.0, 1.0], [1.0]], extras={"ref_logp": [[-3.0, -2.0], [-1.0]]})
    found = differentiate(nca(), small_policy(batch, [[-1.5, -0.5], [-2.0]]), batch)
    assert found.value == pytest.approx(1.34067, abs=1e-5)
    assert found.metrics["chosen_reward"] == pytest.approx(0.15)
    assert found.metrics["rejected_reward"] == pytest.approx(-0.05)
    p_w, p_l = 1 / (1 + math.exp(-0.15)), 1 / (1 + math.exp(0.05))
    wanted = [0.05 * (p_w - 1 + p_w / 2)] * 2 + [0.05 * p_l / 2]
    assert found.gradients["logp"][batch.mask_BT].tolist() == pytest.approx(wanted, abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_nca_equals_a_slow_loop(seed):
    batch, beta = random_batch(seed), 0.3
    out = random_policy(batch, seed)
    reward: dict[int, float] = {}
    for row, rollout in enumerate(batch.rollout_B.tolist()):
        for t in batch.mask_BT[row].nonzero()[:, 0].tolist():
            apart = out.logp_BT[row, t].item() - batch.extras["ref_logp"][row, t].item()
            reward[rollout] = reward.get(rollout, 0.0) + beta * apart
    total = 0.0
    for rollout, r in reward.items():
        if rollout % 2 == 0:
            total -= math.log(1 / (1 + math.exp(-r)))
        total -= 0.5 * math.log(1 / (1 + math.exp(r)))
    found = differentiate(nca(beta=beta), out, batch)
    assert found.value == pytest.approx(total / (batch.denominators.rollouts / 2), abs=1e-9)


def test_the_chosen_log_ratio_has_an_own_optimum():
    """At r_w = ln 2 the slope of -log sigmoid(r) - log sigmoid(-r) / 2 is 0; DPO's never is."""
    batch = small_batch([[1.0], [1.0]], extras={"ref_logp": 0.0})
    found = differentiate(nca(beta=1.0), small_policy(batch, [[math.log(2)], [-1.0]]), batch)
    assert found.gradients["logp"][0].abs().max() < 1e-12 < found.gradients["logp"][1].abs().max()


def test_a_beta_of_zero_is_named():
    with pytest.raises(InputError, match=r"beta is 0\.0"):
        nca(beta=0.0)
