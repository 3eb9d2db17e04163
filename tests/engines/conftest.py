"""Small models with known properties: a bigram table, and an attention layer with learned positions and dropout."""

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from handaxe.core.batch import Batch, Denominators, LossOut


class Bigram:
    """Bigram model over a table of logits: every log-prob has a closed form."""

    max_length, hidden_size, pad_id = 12, 3, 0

    def __init__(self, table_VV):
        self.vocab_size = len(table_VV)
        self.module = nn.Module()
        self.module.table = nn.Parameter(torch.tensor(table_VV, dtype=torch.float64))
        self.module.embed = nn.Parameter(torch.arange(3.0 * self.vocab_size, dtype=torch.float64).view(-1, 3))

    def hidden(self, ids_BT, attend_BT):
        return self.module.embed[ids_BT]

    def head(self, hidden):
        return self.module.table[(hidden[..., 0] / self.hidden_size).round().long()]

    def prefill(self, rows, room):
        last_B = torch.tensor([row[-1] for row in rows])
        return self.module.table[last_B], last_B

    def decode(self, ids_B, cache):
        assert len(ids_B) == len(cache)
        return self.module.table[ids_B], ids_B

    def keep(self, cache, rows):
        return cache[rows]

    def save(self, folder):
        save_file(dict(self.module.state_dict()), folder / "model.safetensors")


class LearnedPositions:
    """One attention layer with learned absolute positions, dropout and a buffer. Samples left-padded rows without a KV
    cache: every decode reads the whole row. Fails at positions beyond max_length."""

    vocab_size, hidden_size, max_length, pad_id = 11, 8, 16, 10

    def __init__(self, seed=0, dropout=0.5, dtype=torch.float64):
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            self.module = nn.ModuleDict(
                {
                    "token": nn.Embedding(self.vocab_size, self.hidden_size),
                    "position": nn.Embedding(self.max_length, self.hidden_size),
                    "qkv": nn.Linear(self.hidden_size, 3 * self.hidden_size),
                    "norm": nn.LayerNorm(self.hidden_size),
                    "drop": nn.Dropout(dropout),
                    "head": nn.Linear(self.hidden_size, self.vocab_size),
                }
            ).to(dtype)
        self.module.register_buffer("scale", torch.ones((), dtype=dtype))
        self.rows_read = []

    def hidden(self, ids_BT, attend_BT):
        net, steps = self.module, ids_BT.shape[1]
        position_BT = (attend_BT.long().cumsum(1) - 1).clamp(min=0)
        x_BTD = net["drop"](net["token"](ids_BT) + net["position"](position_BT))
        q, k, v = net["qkv"](net["norm"](x_BTD)).chunk(3, -1)
        seen = torch.ones(steps, steps, dtype=torch.bool).tril() & (attend_BT[:, None] | torch.eye(steps).bool())
        scores = (q @ k.transpose(1, 2) / self.hidden_size**0.5).masked_fill(~seen, -torch.inf)
        return (x_BTD + net["drop"](scores.softmax(-1) @ v)) * net.scale

    def head(self, hidden):
        return self.module["head"](hidden)

    def prefill(self, rows, room):
        width = max(map(len, rows))
        ids_BT = torch.tensor([[self.pad_id] * (width - len(row)) + list(row) for row in rows])
        return self._last(ids_BT, torch.tensor([[t >= width - len(row) for t in range(width)] for row in rows]))

    def decode(self, ids_B, cache):
        ids_BT, attend_BT = cache
        return self._last(torch.cat([ids_BT, ids_B[:, None]], 1), torch.cat([attend_BT, attend_BT[:, -1:]], 1))

    def _last(self, ids_BT, attend_BT):
        self.rows_read.append(len(ids_BT))
        return self.head(self.hidden(ids_BT, attend_BT)[:, -1]), (ids_BT, attend_BT)

    def keep(self, cache, rows):
        return cache[0][rows], cache[1][rows]

    def save(self, folder):
        save_file(dict(self.module.state_dict()), folder / "model.safetensors")


def make_batch(rows, *, mask=None, adv=None, temperature=None, pad=0, pad_id=0, dtype=torch.float64):
    """A batch of rows of ids; `mask` None trains every token but the first of a row."""
    width = max(map(len, rows)) + pad

    def padded(values, fill):
        return [list(value) + [fill] * (width - len(value)) for value in values]

    mask = [[False] + [True] * (len(row) - 1) for row in rows] if mask is None else mask
    mask_BT = torch.tensor(padded(mask, False)).bool()
    zeros = torch.zeros(mask_BT.shape, dtype=dtype)
    adv_BT = mask_BT.to(dtype) if adv is None else torch.tensor(padded(adv, 0.0), dtype=dtype)
    tokens_B = mask_BT.sum(1).to(dtype)
    positive = float((mask_BT & (adv_BT > 0)).sum())
    return Batch(
        ids_BT=torch.tensor(padded(rows, pad_id)),
        attend_BT=torch.tensor(padded([[True] * len(row) for row in rows], False)),
        mask_BT=mask_BT,
        adv_BT=adv_BT,
        old_logp_BT=zeros,
        behaviour_logp_BT=zeros,
        turn_BT=torch.where(mask_BT, 0, -1),
        group_B=torch.zeros(len(rows), dtype=torch.int64),
        rollout_B=torch.arange(len(rows)),
        rollout_tokens_B=tokens_B,
        rollout_turns_B=(tokens_B > 0).to(dtype),
        temperature_B=torch.tensor(temperature or [1.0] * len(rows), dtype=dtype),
        denominators=Denominators(float(tokens_B.sum()), float(len(rows)), float(len(rows)), 1.0, positive),
    )


def nll(out, batch):
    """Advantage-weighted negative log-likelihood per trained token."""
    value = torch.where(batch.mask_BT, -batch.adv_BT * out.logp_BT, 0.0).sum() / batch.denominators.tokens
    return LossOut(value, {"nll": value.item()})


@pytest.fixture
def bigram():
    table = np.log(np.array([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8], [0.25, 0.7, 0.05]])) + 1.5
    return lambda: Bigram(table)


@pytest.fixture
def learned():
    return LearnedPositions


@pytest.fixture
def batch_from_rows():
    return make_batch


@pytest.fixture
def likelihood():
    return nll
