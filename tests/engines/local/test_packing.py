from dataclasses import replace

import numpy as np
import pytest
import torch
from helpers.vision_policy import CONFIG as VISION
from helpers.vision_policy import vision_model
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from handaxe.core.batch import LossOut
from handaxe.core.errors import InputError
from handaxe.engines.local.engine import LocalEngine
from handaxe.engines.local.packing import balance, hidden_states, padded_layout, sibling_order, tree_layout
from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.testing.engine_images import example_image_batch, example_images

CONFIG = TinyConfig(vocab_size=24, width=16, layers=2, heads=2, max_length=20)
SIBLINGS = [[1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 6, 7], [9], [1, 2, 3, 8], [1, 2, 3, 4, 5], [7, 7, 2], [7, 7, 3]]
ROWS = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=8), min_size=1, max_size=7)
TEMPERATURES = [1.0, 0.7, 0.0, 1.0, 1.3, 0.7, 0.7]


def tiny(dtype=torch.float64, kv_heads=None):
    config = replace(CONFIG, kv_heads=kv_heads)
    return TinyModel(TinyModel.new(config, seed=1).module.to(dtype), pad_id=0)


def full_loss(out, batch):
    """Loss over log-probs, entropies and values with different random weights for each row."""
    draw = torch.Generator().manual_seed(0)
    weight_BT = torch.rand(64, 64, generator=draw)[batch.rollout_B][:, : batch.ids_BT.shape[1]]
    each_BT = weight_BT * (out.logp_BT.exp() - 0.3 * out.logp_BT * batch.adv_BT + 0.2 * out.entropy())
    if out.value_BT is not None:
        each_BT = each_BT + weight_BT * (out.value_BT - batch.adv_BT) ** 2
    return LossOut(torch.where(batch.mask_BT, each_BT, 0.0).sum() / batch.denominators.tokens, {})


def step(engine, pieces, loss=full_loss):
    value = sum(engine.forward_backward(piece, loss).value for piece in pieces)
    found = {name: p.grad.clone() for name, p in engine._trained.items() if p.grad is not None}
    engine._drop_gradient()
    return value, found


def assert_same(one, other, tolerance):
    (value, gradient), (value_2, gradient_2) = one, other
    assert abs(value - value_2) <= tolerance * (1 + abs(value_2))
    largest = max(g.abs().max() for g in gradient_2.values())
    assert set(gradient) == set(gradient_2)
    for name, g in gradient.items():
        assert (g - gradient_2[name]).abs().max() <= tolerance * largest, name


def engines(make=tiny, **options):
    pair = [LocalEngine(make(), packing=packing, **options) for packing in ("tree", "rows")]
    for engine in pair:
        if engine._critic is not None:
            torch.nn.init.constant_(engine._critic.weight, 0.1)
    return pair


@pytest.mark.parametrize("kv_heads", [None, 1])
@pytest.mark.parametrize("dtype, tolerance", [(torch.float64, 1e-10), (torch.float32, 1e-6)])
@pytest.mark.parametrize("options", [{}, {"critic": True}, {"pack_tokens": 1}, {"gradient_checkpointing": True}])
def test_trees_and_rows_have_equal_loss_and_gradient(batch_from_rows, dtype, tolerance, options, kv_heads):
    tree, rows = engines(lambda: tiny(dtype, kv_heads), **options)
    batch = batch_from_rows(SIBLINGS, temperature=TEMPERATURES, pad=2, dtype=dtype)
    assert_same(step(tree, [batch]), step(rows, [batch]), tolerance)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=ROWS, data=st.data())
def test_trees_and_rows_are_equal_for_random_rows_and_splits(batch_from_rows, rows, data):
    temperature = [data.draw(st.sampled_from([0.0, 0.5, 1.0])) for _ in rows]
    mask = [[t > 0 and data.draw(st.booleans()) for t in range(len(row))] for row in rows]
    batch = batch_from_rows(rows, mask=mask, temperature=temperature)
    if not batch.mask_BT.any():
        return
    tree, plain = engines(critic=True, pack_tokens=data.draw(st.sampled_from([1, 6, 1024])))
    cut = data.draw(st.integers(0, len(rows)))
    order = torch.tensor(data.draw(st.permutations(range(len(rows)))))
    pieces = [batch.rows(part) for part in (order[:cut], order[cut:]) if len(part)]
    assert_same(step(tree, pieces), step(plain, [batch]), 1e-10)


def test_shared_token_trains_with_the_summed_advantage_of_its_branches(batch_from_rows, likelihood):  # traps 30, 31
    rows, adv = [[1, 2, 3, 4], [1, 2, 3, 5], [1, 2, 3]], [[0, 1.0, 1.0, 1.0], [0, -3.0, -3.0, -3.0], [0, 0.5, 0.5]]
    tree, _ = engines()
    together = step(tree, [batch_from_rows(rows, adv=adv)], likelihood)
    merged = [[0, -1.5, -1.5, 1.0], [0, 0, 0, -3.0]]  # 1 - 3 + 0.5 on the shared tokens
    batch = batch_from_rows(rows[:2], adv=merged)
    alone = step(tree, [batch], lambda o, b: LossOut(likelihood(o, b).value * batch.denominators.tokens / 8, {}))
    assert_same(together, alone, 1e-12)


@pytest.mark.exact
def test_forward_measures_equally_with_trees_and_rows(batch_from_rows):
    names = ("logp", "entropy", "collision", "value")
    batch = batch_from_rows(SIBLINGS, temperature=TEMPERATURES, pad=1)
    for rows_at_a_time in (1, 3, 64):
        tree, rows = engines(critic=True, reference=True, micro_batch_rows=rows_at_a_time)
        one, other = tree.forward(batch, names=names), rows.forward(batch, names=names)
        assert all(torch.allclose(one[name], other[name], atol=1e-12) for name in names)
        assert bool((other["logp"][:, 1:][batch.attend_BT[:, 1:]] < 0).all())
        reference = tree.forward(batch, reference=True)["logp"]
        assert torch.allclose(reference, other["logp"], atol=1e-12)


def test_layout_counts_computed_and_saved_tokens(batch_from_rows):
    batch = batch_from_rows(SIBLINGS, pad=2)
    trees, rows = tree_layout(batch, pack_tokens=1024, width=16), padded_layout(batch)
    distinct = len({tuple(row[: t + 1]) for row in SIBLINGS for t in range(len(row))})
    assert (trees.tokens, trees.computed, trees.wasted) == (28, distinct, 0)
    assert (rows.tokens, rows.computed) == (28, 7 * 9) and rows.wasted == pytest.approx(1 - 28 / 63)
    assert trees.saved == pytest.approx(1 - distinct / 28) and rows.saved < 0


@pytest.mark.parametrize("kv_heads", [None, 1])
def test_packed_trees_have_equal_hidden_states_to_rows(batch_from_rows, kv_heads):
    model, batch = tiny(kv_heads=kv_heads), batch_from_rows(SIBLINGS)
    want = hidden_states(model, batch, padded_layout(batch))[padded_layout(batch).node_BT[batch.attend_BT]]
    for pack_tokens, packs in ((1, 3), (8, 2), (1024, 1)):
        layout = tree_layout(batch, pack_tokens=pack_tokens, width=16)
        assert len(layout.packs) == packs
        hidden_ND = hidden_states(model, batch, layout)
        assert len(hidden_ND) == layout.computed == sum(map(len, layout.packs))
        assert torch.allclose(hidden_ND[layout.node_BT[batch.attend_BT]], want, atol=1e-12)


def test_packs_are_balanced_and_bounded():
    assert balance([5, 4, 3, 2], [5, 4, 3, 2], 8) == [[0, 3], [1, 2]]
    assert balance([], [], 8) == [] and balance([20, 1], [20, 1], 8) == [[0], [1]]
    draw = np.random.default_rng(0)
    sizes = draw.integers(10, 200, 60)
    packs = balance(sizes, sizes, 1024)
    loads = [int(sizes[pack].sum()) for pack in packs]
    assert sorted(one for pack in packs for one in pack) == list(range(60))
    assert max(loads) <= 1024 and min(loads) > 0.9 * max(loads) and len(packs) == -(-int(sizes.sum()) // 1024)


def test_sibling_order_makes_shared_prefixes_adjacent(batch_from_rows):
    order = sibling_order(batch_from_rows([[3, 300], [1, 2], [3, 4], [1]]))
    assert order.tolist() == [3, 1, 2, 0]


def test_row_beyond_the_context_and_invalid_options_raise(batch_from_rows):
    long = [list(range(20)) + [1]]
    for packing in ("tree", "rows"):
        with pytest.raises(InputError, match="rows of 21 tokens, the model reads 20"):
            LocalEngine(tiny(), packing=packing).forward(batch_from_rows(long))
    for bad in ({"packing": "forest"}, {"pack_tokens": 0}):
        with pytest.raises(InputError, match="packing is"):
            LocalEngine(tiny(), **bad)


# --- images --------------------------------------------------------------------------------------------------------


@pytest.mark.exact
def test_trees_equal_rows_with_images():
    model, batch = vision_model(), example_image_batch(vision_model())
    with torch.no_grad():
        trees = tree_layout(batch, pack_tokens=30, width=32)
        rows = padded_layout(batch)
        tree_ND, row_ND = hidden_states(model, batch, trees), hidden_states(model, batch, rows)
    at_BT = batch.attend_BT
    assert len(trees.packs) > 1 and trees.computed < trees.tokens
    assert torch.allclose(tree_ND[trees.node_BT[at_BT]], row_ND[rows.node_BT[at_BT]], atol=1e-10)


def test_images_without_image_tokens_are_not_read():
    text = replace(VISION, patch=0)
    batch = replace(example_image_batch(vision_model()).rows(torch.tensor([7])), images=example_images())
    model = vision_model(config=text)
    for layout in (tree_layout(batch, pack_tokens=30, width=32), padded_layout(batch)):
        hidden_states(model, batch, layout)
    shown = example_image_batch(vision_model())
    with pytest.raises(InputError, match="the batch holds image tokens, and TinyModel reads no images"):
        hidden_states(model, shown, padded_layout(shown))
