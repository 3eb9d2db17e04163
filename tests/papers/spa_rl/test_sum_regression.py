import math
from dataclasses import replace

import pytest
import torch

from handaxe.core.errors import InputError
from handaxe.engines.local.engine import LocalEngine
from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.papers.spa_rl.sum_regression import sum_regression
from handaxe.testing.batches import random_batch, random_policy, small_batch, small_policy
from handaxe.testing.losses import differentiate

TOGETHER = "rollouts"


def one_rollout(*values, returns=1.0):
    """A turn a value, of two tokens, the value at the second; all in one row, tool replies between them."""
    turn = [place for k in range(len(values)) for place in (k, k, None)]
    value = [said for number in values for said in (9.0, number, None)]
    batch = small_batch([[0.0, 0.0, None] * len(values)], turn=[turn], extras={"returns": returns})
    return small_policy(batch, -1.0, value=[value]), batch


@pytest.mark.parametrize(("values", "loss", "slope"), [((0.1, 0.5, 0.4), 0.0, 0.0), ((0.2, 0.2), 0.36, -1.2)])
def test_sum_regression_equals_the_worked_examples(values, loss, slope):
    out, batch = one_rollout(*values)
    found = differentiate(sum_regression(), out, batch)
    assert found.value == pytest.approx(loss, abs=1e-12)
    assert found.metrics == {"loss": found.value, "predicted": pytest.approx(sum(values))}
    assert found.gradients["value"][batch.mask_BT].tolist() == pytest.approx([0.0, slope] * len(values))
    assert not found.gradients["logp"].any()


@pytest.mark.parametrize("seed", range(3))
def test_sum_regression_equals_a_slow_loop(seed):
    batch = random_batch(seed, under_mask=math.nan, left_out=0.2)
    out = random_policy(batch, seed, under_mask=math.nan)
    last: dict[int, dict[tuple[int, int], int]] = {}
    returns: dict[int, list[float]] = {}
    for row, t in batch.mask_BT.nonzero().tolist():
        rollout = int(batch.rollout_B[row])
        last.setdefault(rollout, {})[row, int(batch.turn_BT[row, t])] = t
        returns.setdefault(rollout, []).append(batch.extras["returns"][row, t].item())
    total, wanted_BT = 0.0, torch.zeros_like(out.logp_BT)
    for rollout, ends in last.items():
        told = sum(out.value_BT[row, t].item() for (row, _), t in ends.items())
        error = told - sum(returns[rollout]) / len(returns[rollout])
        total += error**2 / len(last)
        for (row, _), t in ends.items():
            wanted_BT[row, t] = 2 * error / len(last)
    found = differentiate(sum_regression(), out, batch)
    assert found.value == pytest.approx(total)
    torch.testing.assert_close(found.gradients["value"], wanted_BT, atol=1e-12, rtol=0)


def test_missing_values_and_returns_are_named():
    out, batch = one_rollout(0.2)
    with pytest.raises(InputError, match="critic"):
        sum_regression()(replace(out, value_BT=None), batch)
    bare = small_batch([[1.0]])
    with pytest.raises(InputError, match="'returns'"):
        sum_regression()(small_policy(bare, -1.0), bare)


def test_an_engine_reduces_the_loss():
    batch = random_batch(5, untrained=0.0, dtype=torch.float32)
    engine = LocalEngine(
        TinyModel.new(TinyConfig(vocab_size=50, width=16, layers=1, heads=2, max_length=64)), critic=True
    )
    losses = []
    for _ in range(30):
        losses.append(engine.forward_backward(batch, sum_regression()).value.item())
        engine.optim_step(learning_rate=1e-2)
    assert losses[-1] < 0.2 * losses[0]
