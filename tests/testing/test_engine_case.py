import math

import pytest
import torch
from torch import nn

from handaxe.core.records import Sampling
from handaxe.core.requests import Completion
from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.testing.engine_case import (
    assert_close,
    assert_raises,
    completed_batch,
    example_batch,
    example_requests,
    oracle_loss,
    oracle_measures,
)


class Coin:
    """Token 1 follows token 0 with odds of `odds` to 1; token 0 follows token 1 almost surely."""

    vocab_size, pad_id, hidden_size, max_length = 2, 0, 1, 30

    def __init__(self, odds):
        self.module = nn.Module()
        self.module.table = nn.Parameter(torch.tensor([[0.0, math.log(odds)], [0.0, -50.0]], dtype=torch.float64))

    def hidden(self, ids_BT, attend_BT):
        return self.module.table[ids_BT]

    def head(self, hidden):
        return hidden


def completion(ids):
    return Completion(ids, [], [], [], "length")


def test_oracle_measures_equal_a_coin():
    requests = [r._replace(ids=[0]) for r in example_requests(Coin(3), Sampling())[:2]]
    requests[1] = requests[1]._replace(sampling=Sampling(temperature=0.5))
    batch = completed_batch(requests, [completion([1, 0]), completion([0])])
    got = oracle_measures(Coin(3), batch)
    want = [[0, math.log(3 / 4), 0], [0, math.log(1 / 10), 0]]  # at temperature 1/2 the odds are 9 to 1
    assert torch.allclose(got["logp"], torch.tensor(want, dtype=torch.float64))
    assert got["collision"][0, 1].item() == pytest.approx(10 / 16)
    assert got["entropy"][0, 1].item() == pytest.approx(-0.75 * math.log(0.75) - 0.25 * math.log(0.25))


def test_oracle_loss_equals_a_coin():
    batch = example_batch(Coin(1), rows=1)
    batch.temperature_B[:] = 1.0
    batch.mask_BT[:, 2:] = False
    batch.ids_BT[0, :2] = 0
    value, gradient = oracle_loss(Coin(1), batch)
    tokens, adv = batch.denominators.tokens, batch.adv_BT[0, 1].item()
    assert value == pytest.approx((adv * math.log(2) - 0.1 * math.log(2)) / tokens)
    # d logp / d logits = (1/2, -1/2) for token 0; a fair coin's entropy is flat.
    assert gradient["table"].flatten().tolist() == pytest.approx([-adv / 2 / tokens, adv / 2 / tokens, 0, 0])


def test_example_batch_is_valid():
    model = TinyModel.new(TinyConfig(width=8, heads=2))
    batch, wide = example_batch(model), example_batch(model, padding=4)
    assert batch.attend_BT[:, -1].any() and not wide.attend_BT[:, -4:].any()
    assert torch.equal(wide.ids_BT[:, : batch.ids_BT.shape[1]], batch.ids_BT)
    assert batch.mask_BT.sum() == batch.denominators.tokens == batch.rollout_tokens_B.sum()
    assert not (batch.mask_BT & ~batch.attend_BT).any() and not batch.mask_BT[:, 0].any()
    assert torch.all(batch.adv_BT[~batch.mask_BT] == 0) and len(set(batch.attend_BT.sum(1).tolist())) > 2
    turns = sum(len(set(t[m].tolist())) for t, m in zip(batch.turn_BT, batch.mask_BT))
    assert turns == batch.denominators.turns > len(batch)


def test_assertions_have_numbers():
    with pytest.raises(AssertionError, match="x is off by 0.5"):
        assert_close("x", torch.tensor([0.0, 1.0]), torch.tensor([0.0, 3.0]), 0.1)
    with pytest.raises(AssertionError, match="x is off by nan"):
        assert_close("x", torch.tensor([math.nan]), torch.tensor([0.0]), 0.1)
    with pytest.raises(AssertionError, match="shape"):
        assert_close("x", torch.zeros(2), torch.zeros(1), 0.1)
    assert_close("x", torch.tensor([1000.0]), torch.tensor([1001.0]), 0.01)
    with pytest.raises(AssertionError, match="this must be refused with KeyError"):
        assert_raises(KeyError, dict, "this")
    assert assert_raises(KeyError, lambda: {}["a"], "this") == "'a'"
