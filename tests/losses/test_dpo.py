import math

import pytest
import torch

from handaxe.core.errors import InputError
from handaxe.losses.dpo import dpo
from handaxe.testing.batches import random_batch, random_policy, small_batch, small_policy
from handaxe.testing.losses import differentiate

TOGETHER = "pairs"


def BATCH(seed):
    """Pairs of siblings."""
    return random_batch(seed, siblings=(2, 2), untrained=0.0)


def example(rollout=None):
    """logp_w -10, ref_w -12, logp_l -20, ref_l -18, spread over tokens; the second row holds a tool's reply."""
    logp, ref = [[-4.0, -6.0], [-20.0, None]], [[-7.0, -5.0], [-18.0, None]]
    batch = small_batch([[0.0, 0.0], [0.0, None]], rollout=rollout, extras={"ref_logp": ref})
    return small_policy(batch, logp), batch


def test_dpo_matches_the_docstring_example():
    out, batch = example()
    found = differentiate(dpo(), out, batch)
    assert found.value == pytest.approx(0.5130153)
    assert found.gradients["logp"][batch.mask_BT].tolist() == pytest.approx([-0.0401312, -0.0401312, 0.0401312])
    assert found.metrics == {
        "loss": pytest.approx(0.5130153),
        "accuracy": 1.0,
        "margin": pytest.approx(0.4),
        "chosen_reward": pytest.approx(0.2),
        "rejected_reward": pytest.approx(-0.2),
    }


def test_odd_rollouts_are_rejected():
    out, batch = example(rollout=[1, 0])
    found = differentiate(dpo(), out, batch)
    assert found.value == pytest.approx(-math.log(1 / (1 + math.exp(0.4))))
    assert found.metrics["accuracy"] == 0.0
    assert found.metrics["margin"] == pytest.approx(-0.4)


def test_a_policy_at_its_reference_has_margin_zero():
    batch = small_batch([[0.0], [0.0, 0.0]], extras={"ref_logp": -1.0})
    found = differentiate(dpo(beta=0.5), small_policy(batch, -1.0), batch)
    assert found.value == pytest.approx(math.log(2))
    assert found.gradients["logp"][batch.mask_BT].tolist() == pytest.approx([-0.25, 0.25, 0.25])
    assert found.metrics["accuracy"] == 0.0


@pytest.mark.parametrize("seed", range(3))
def test_dpo_equals_a_slow_loop(seed):
    batch, beta = random_batch(seed, siblings=(2, 2), untrained=0.0), 0.3
    out = random_policy(batch, seed)
    rewards: dict[int, float] = {}
    for row, rollout in enumerate(batch.rollout_B.tolist()):
        for t in batch.mask_BT[row].nonzero()[:, 0].tolist():
            apart = out.logp_BT[row, t].item() - batch.extras["ref_logp"][row, t].item()
            rewards[rollout] = rewards.get(rollout, 0.0) + beta * apart
    pairs = len(rewards) // 2
    margins = [rewards[2 * k] - rewards[2 * k + 1] for k in range(pairs)]
    found = differentiate(dpo(beta=beta), out, batch)
    assert found.value == pytest.approx(sum(math.log1p(math.exp(-m)) for m in margins) / pairs, abs=1e-9)
    assert found.metrics["accuracy"] == pytest.approx(sum(m > 0 for m in margins) / pairs)
    assert found.metrics["margin"] == pytest.approx(sum(margins) / pairs)
    for row, rollout in enumerate(batch.rollout_B.tolist()):
        slope = -beta / (1 + math.exp(margins[rollout // 2])) / pairs * (1 if rollout % 2 == 0 else -1)
        wanted = slope * batch.mask_BT[row].double()
        torch.testing.assert_close(found.gradients["logp"][row], wanted, atol=1e-9, rtol=0)


def test_half_a_pair_is_an_error():
    _, batch = example()
    lone = batch.rows(slice(0, 1))
    with pytest.raises(InputError, match=r"pairs \[0\] have one side only"):
        dpo()(small_policy(lone, -1.0), lone)


def test_half_a_rollout_is_an_error():
    batch = small_batch([[0.0], [0.0], [0.0]], rollout=[0, 0, 1], extras={"ref_logp": -1.0})
    part = batch.rows(slice(1, 3))
    with pytest.raises(InputError, match=r"rollouts \[0\]"):
        dpo()(small_policy(part, -1.0), part)


def test_a_pair_without_tokens_is_left_out():
    batch = small_batch([[0.0], [0.0], [None], [None]], extras={"ref_logp": -1.0})
    found = differentiate(dpo(), small_policy(batch, -1.0), batch)
    assert found.value == pytest.approx(math.log(2))


def test_a_missing_reference_is_named():
    batch = small_batch([[0.0], [0.0]])
    with pytest.raises(InputError, match="'ref_logp'"):
        dpo()(small_policy(batch, -1.0), batch)


def test_steps_mean_divides_by_turns():
    """Turns of 2 and 4 against -2 and 0, as iStar's released code divides them; their sums otherwise."""
    logp = [[-1.0, -2.0], [-3.0, None, -1.0]]
    ref = [[-3.0, -6.0], [-1.0, None, -1.0]]
    batch = small_batch([[0.0, 0.0], [0.0, None, 0.0]], turn=[[0, 1], [0, None, 1]], extras={"ref_logp": ref})
    found = differentiate(dpo(beta=0.05, steps="mean"), small_policy(batch, logp), batch)
    assert found.value == pytest.approx(0.5981, abs=5e-5)
    assert found.metrics["chosen_reward"] == pytest.approx(0.15)
    assert found.metrics["rejected_reward"] == pytest.approx(-0.05)
    assert differentiate(dpo(beta=0.05), small_policy(batch, logp), batch).metrics["margin"] == pytest.approx(0.4)


def test_another_word_for_steps_is_an_error():
    with pytest.raises(InputError, match="'most'"):
        dpo(steps="most")
