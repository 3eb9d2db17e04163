import math
from dataclasses import replace

import pytest
import torch
from helpers.image_records import noise
from helpers.vision_policy import vision_model

from handaxe.core.errors import InputError
from handaxe.core.images import is_image_id, token_number
from handaxe.engines.local import token_measures
from handaxe.engines.local.engine import LocalEngine
from handaxe.engines.local.packing import hidden_states, padded_layout, tree_layout
from handaxe.engines.local.token_measures import TokenMeasures, make_reader
from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.testing.engine_case import example_loss
from handaxe.testing.engine_images import example_image_batch

NAMES = ("logp", "entropy", "collision")
ROWS = [[1, 2, 3, 4, 5], [1, 2, 3, 4, 6], [1, 2, 3, 4, 5], [9, 2]]


class Capped(TinyModel):
    """A model with a nonlinear head."""

    def head(self, hidden):
        return 3 * torch.tanh(super().head(hidden) * 20)

    def linear_head(self):
        return None


def model(model_class=TinyModel):
    module = TinyModel.new(TinyConfig(vocab_size=24, width=16, layers=1, heads=2, max_length=20)).module
    return model_class(module.double(), pad_id=0)


def measures(made, batch, chosen=None, trees=True):
    layout = tree_layout(batch, pack_tokens=99, width=16) if trees else padded_layout(batch)
    return TokenMeasures(
        made, batch, layout, hidden_states(made, batch, layout), batch.attend_BT if chosen is None else chosen
    )


def softmax_measures(made, batch, row, t):
    hidden = made.hidden(batch.ids_BT[row : row + 1], None)[0, t - 1]
    p = (made.head(hidden) / batch.temperature_B[row]).softmax(-1)
    return [p[batch.ids_BT[row, t]].log(), torch.special.entr(p).sum(), (p**2).sum()]


@pytest.mark.parametrize("model_class", [TinyModel, Capped])
@pytest.mark.parametrize("entries", [1, 30, 10**6])
def test_measures_equal_softmax_whole_chunked_and_with_a_custom_head(
    batch_from_rows, model_class, entries, monkeypatch
):
    monkeypatch.setattr(token_measures, "ENTRIES", entries)
    made, batch = model(model_class), batch_from_rows(ROWS, temperature=[1.0, 1.0, 0.5, 1.0])
    found = measures(made, batch).measure(NAMES)
    got, want = [], []
    for row, t in batch.mask_BT.nonzero().tolist():
        got += [found[name][row, t] for name in NAMES]
        want += softmax_measures(made, batch, row, t)
    assert torch.allclose(torch.stack(got), torch.stack(want), atol=1e-12)
    assert all(bool((found[name][:, 0] == 0).all()) for name in NAMES)
    weights = torch.rand(len(got), dtype=torch.float64)
    grads = [torch.autograd.grad((torch.stack(x) * weights).sum(), list(made.module.parameters())) for x in (got, want)]
    assert all(torch.allclose(a, b, atol=1e-12) for a, b in zip(*grads))


def test_head_reads_each_distinct_chosen_token_once(batch_from_rows):
    made, rows_read = model(), []

    class Counting(TinyModel):
        def head(self, hidden):
            rows_read.append(len(hidden))
            return super().head(hidden)

    batch = batch_from_rows(ROWS)
    chosen = torch.zeros_like(batch.mask_BT)
    chosen[:, 4] = True
    counted = measures(Counting(made.module, pad_id=0), batch, chosen)
    found = counted.measure(("logp",))["logp"]
    counted.measure(("entropy",))
    assert rows_read == [2], "tokens 5 and 6 after 1 2 3 4; the entropy uses the same logits"
    assert torch.equal(found != 0, chosen & batch.attend_BT) and found[0, 4] == found[2, 4] != found[1, 4]


@pytest.mark.parametrize("trees", [True, False])
def test_value_belongs_to_the_state_before_the_token(batch_from_rows, trees):
    made = model()
    batch = batch_from_rows(ROWS, pad=1)
    critic = torch.nn.Linear(16, 1, dtype=torch.float64)
    value_BT = measures(made, batch, trees=trees).value(critic)
    hidden_BTD = made.hidden(batch.ids_BT, None)
    want_BT = torch.nn.functional.pad(critic(hidden_BTD)[:, :-1, 0], (1, 0))
    want_BT = torch.where(batch.attend_BT & (torch.arange(6) > 0), want_BT, 0.0)
    assert torch.allclose(value_BT, want_BT, atol=1e-12)


def test_nan_off_the_chosen_tokens_reaches_no_gradient(batch_from_rows):  # trap 13
    made, batch = model(), batch_from_rows(ROWS, pad=2)
    critic = torch.nn.Linear(16, 1, dtype=torch.float64)
    chosen, layout = batch.mask_BT & (torch.arange(7) < 3), padded_layout(batch)
    hidden_ND = hidden_states(made, batch, layout).detach()
    found = []
    for filler in (0.0, math.nan):
        dirty_ND = torch.full_like(hidden_ND, filler)
        used = layout.node_BT[:, :2][batch.attend_BT[:, 1:3]]
        dirty_ND[used] = hidden_ND[used]
        dirty_ND.requires_grad_()
        dirty = TokenMeasures(made, batch, layout, dirty_ND, chosen)
        total = dirty.measure(("logp",))["logp"].sum() + dirty.measure(("entropy",))["entropy"].sum()
        total = total + dirty.value(critic).sum()
        found.append((total, *torch.autograd.grad(total, [dirty_ND, made.module.embed.weight, critic.weight])))
    assert all(torch.equal(a, b) for a, b in zip(*found)) and torch.isfinite(found[1][0])


def test_reader_falls_back_to_rows_and_refuses_checkpointing(learned, batch_from_rows):
    options = {"pack_tokens": 9, "gradient_checkpointing": False}
    assert make_reader(model(), packing="tree", **options).uses_trees(model())
    assert not make_reader(model(), packing="rows", **options).uses_trees(model())
    assert not LocalEngine(learned())._reader.uses_trees(learned()), "a model without trees is read in rows"
    with pytest.raises(InputError, match="gradient_checkpointing"):
        LocalEngine(learned(), gradient_checkpointing=True)
    order = LocalEngine(learned())._reader.order(learned(), batch_from_rows([[1, 2, 3], [1], [1, 2]]))
    assert order.tolist() == [1, 2, 0]


@pytest.mark.parametrize("packing", ["tree", "rows"])
def test_gradient_checkpointing_computes_the_blocks_twice(batch_from_rows, likelihood, packing):
    calls = []
    for checkpointing in (False, True):
        made = model()
        engine = LocalEngine(made, packing=packing, gradient_checkpointing=checkpointing)
        made.module.stack[0].gate_up.register_forward_pre_hook(lambda *given: calls.append(checkpointing))
        engine.forward_backward(batch_from_rows(ROWS), likelihood)
    assert calls == [False, True, True]


@pytest.mark.parametrize("trees", [True, False])
def test_image_tokens_have_measures_of_0(trees, batch_from_rows):  # trap 13
    model, image = vision_model(), noise(0, 16, 16)
    batch = replace(batch_from_rows([[1, *image.ids(4), 2, 3], [1, 2, 3]]), images=(image,))
    batch = replace(batch, temperature_B=torch.tensor([0.5, 2.0]).double())
    with torch.no_grad():
        found = measures(model, batch, trees=trees).measure(NAMES)
    for name in NAMES:
        assert (found[name] != 0).tolist() == [[False] * 5 + [True] * 2, [False, True, True] + [False] * 4], name


class Undefined(TinyModel):
    """Hidden states are NaN at image tokens that a further token of their image follows: no trained token does."""

    def hidden(self, ids_BT, attend_BT, images=()):
        return _undefined(super().hidden(ids_BT, attend_BT, images), ids_BT)

    def hidden_tree(self, pack):
        return _undefined(super().hidden_tree(pack), pack.ids_N)


def _undefined(hidden, ids):
    inner = torch.zeros_like(ids, dtype=torch.bool)
    inner[..., :-1] = is_image_id(ids[..., :-1]) & is_image_id(ids[..., 1:]) & (token_number(ids[..., 1:]) > 0)
    assert inner.any()
    return hidden.masked_fill(inner[..., None], math.nan)


@pytest.mark.parametrize("packing", ["tree", "rows"])
def test_nan_at_image_tokens_reaches_no_measure_loss_or_gradient(packing):  # trap 14 of images
    found = []
    for model_class in (TinyModel, Undefined):
        engine = LocalEngine(vision_model(model_class=model_class), packing=packing)
        batch = example_image_batch(engine.model)
        value = engine.forward_backward(batch, example_loss).value
        assert bool((is_image_id(batch.ids_BT) & batch.mask_BT).sum() == 0)
        named = engine.model.module.named_parameters()
        found.append([value, *(one.grad for _, one in named if one.grad is not None)])
        found[-1] += [engine.forward(batch, names=("logp", "entropy"))[name] for name in ("logp", "entropy")]
    assert len(found[0]) == len(found[1]) > 10
    assert all(torch.equal(one, other) and torch.isfinite(one).all() for one, other in zip(*found))
