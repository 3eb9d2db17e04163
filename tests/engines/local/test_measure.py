import math

import pytest
import torch

from handaxe.core.errors import InputError
from handaxe.engines.local import measure
from handaxe.engines.local.engine import LocalEngine
from handaxe.engines.local.measure import Measuring, make_reader
from handaxe.engines.local.packing import lay_out, padded, read
from handaxe.models.tiny import TinyConfig, TinyModel

NAMES = ("logp", "entropy", "collision")
ROWS = [[1, 2, 3, 4, 5], [1, 2, 3, 4, 6], [1, 2, 3, 4, 5], [9, 2]]


class Capped(TinyModel):
    """Its head is more than a matrix product."""

    def head(self, hidden):
        return 3 * torch.tanh(super().head(hidden) * 20)

    def linear_head(self):
        return None


def model(kind=TinyModel):
    module = TinyModel.new(TinyConfig(vocab_size=24, width=16, layers=1, heads=2, max_length=20)).module
    return kind(module.double(), pad_id=0)


def reading(made, batch, chosen=None, trees=True):
    layout = lay_out(batch, pack_tokens=99, width=16) if trees else padded(batch)
    return Measuring(made, batch, layout, read(made, batch, layout), batch.attend_BT if chosen is None else chosen)


def by_hand(made, batch, row, t):
    hidden = made.hidden(batch.ids_BT[row : row + 1], None)[0, t - 1]
    p = (made.head(hidden) / batch.temperature_B[row]).softmax(-1)
    return [p[batch.ids_BT[row, t]].log(), torch.special.entr(p).sum(), (p**2).sum()]


@pytest.mark.parametrize("kind", [TinyModel, Capped])
@pytest.mark.parametrize("entries", [1, 30, 10**6])
def test_plain_in_pieces_and_through_the_models_own_head(batch_of, kind, entries, monkeypatch):
    monkeypatch.setattr(measure, "ENTRIES", entries)
    made, batch = model(kind), batch_of(ROWS, temperature=[1.0, 1.0, 0.5, 1.0])
    found = reading(made, batch).measure(NAMES)
    got, want = [], []
    for row, t in batch.mask_BT.nonzero().tolist():
        got += [found[name][row, t] for name in NAMES]
        want += by_hand(made, batch, row, t)
    assert torch.allclose(torch.stack(got), torch.stack(want), atol=1e-12)
    assert all(bool((found[name][:, 0] == 0).all()) for name in NAMES)
    weights = torch.rand(len(got), dtype=torch.float64)
    slopes = [
        torch.autograd.grad((torch.stack(x) * weights).sum(), list(made.module.parameters())) for x in (got, want)
    ]
    assert all(torch.allclose(a, b, atol=1e-12) for a, b in zip(*slopes))


def test_the_head_reads_only_what_is_asked_for_and_each_once(batch_of):
    made, rows_read = model(), []

    class Counting(TinyModel):
        def head(self, hidden):
            rows_read.append(len(hidden))
            return super().head(hidden)

    batch = batch_of(ROWS)
    chosen = torch.zeros_like(batch.mask_BT)
    chosen[:, 4] = True
    asked = reading(Counting(made.module, pad_id=0), batch, chosen)
    found = asked.measure(("logp",))["logp"]
    asked.measure(("entropy",))
    assert rows_read == [2], "tokens 5 and 6 after 1 2 3 4; the entropy uses the same logits"
    assert torch.equal(found != 0, chosen & batch.attend_BT) and found[0, 4] == found[2, 4] != found[1, 4]


@pytest.mark.parametrize("trees", [True, False])
def test_values_are_of_the_state_before_the_token(batch_of, trees):
    made, batch, critic = model(), batch_of(ROWS, pad=1), torch.nn.Linear(16, 1, dtype=torch.float64)
    value_BT = reading(made, batch, trees=trees).value(critic)
    hidden_BTD = made.hidden(batch.ids_BT, None)
    want_BT = torch.nn.functional.pad(critic(hidden_BTD)[:, :-1, 0], (1, 0))
    want_BT = torch.where(batch.attend_BT & (torch.arange(6) > 0), want_BT, 0.0)
    assert torch.allclose(value_BT, want_BT, atol=1e-12)


def test_nan_where_nothing_is_asked_reaches_nothing(batch_of):  # trap 13
    made, batch = model(), batch_of(ROWS, pad=2)
    critic = torch.nn.Linear(16, 1, dtype=torch.float64)
    chosen, layout = batch.mask_BT & (torch.arange(7) < 3), padded(batch)
    hidden_ND = read(made, batch, layout).detach()
    found = []
    for filler in (0.0, math.nan):
        dirty_ND = torch.full_like(hidden_ND, filler)
        used = layout.node_BT[:, :2][batch.attend_BT[:, 1:3]]
        dirty_ND[used] = hidden_ND[used]
        dirty_ND.requires_grad_()
        asked = Measuring(made, batch, layout, dirty_ND, chosen)
        total = asked.measure(("logp",))["logp"].sum() + asked.measure(("entropy",))["entropy"].sum()
        total = total + asked.value(critic).sum()
        found.append((total, *torch.autograd.grad(total, [dirty_ND, made.module.embed.weight, critic.weight])))
    assert all(torch.equal(a, b) for a, b in zip(*found)) and torch.isfinite(found[1][0])


def test_readers_say_what_they_cannot(learned, batch_of):
    assert make_reader(model(), packing="tree", pack_tokens=9, checkpointing=False).uses_trees(model())
    assert not make_reader(model(), packing="rows", pack_tokens=9, checkpointing=False).uses_trees(model())
    assert not LocalEngine(learned())._reader.uses_trees(learned()), "a model that knows no trees is read in rows"
    with pytest.raises(InputError, match="checkpointing"):
        LocalEngine(learned(), checkpointing=True)
    order = LocalEngine(learned())._reader.order(learned(), batch_of([[1, 2, 3], [1], [1, 2]]))
    assert order.tolist() == [1, 2, 0]


@pytest.mark.parametrize("packing", ["tree", "rows"])
def test_checkpointing_computes_the_blocks_twice(batch_of, likelihood, packing):
    calls = []
    for checkpointing in (False, True):
        made = model()
        engine = LocalEngine(made, packing=packing, checkpointing=checkpointing)
        made.module.stack[0].gate_up.register_forward_pre_hook(lambda *given: calls.append(checkpointing))
        engine.forward_backward(batch_of(ROWS), likelihood)
    assert calls == [False, True, True]
