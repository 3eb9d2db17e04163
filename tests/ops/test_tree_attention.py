import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from handaxe.ops import tree_attention as module
from handaxe.ops.token_trees import build_forest, make_pack
from handaxe.ops.tree_attention import attention_blocks, tree_attention

CPU = torch.device("cpu")


def pack_of(rows):
    trees = build_forest([np.array(row, np.int64) for row in rows])
    return make_pack(trees, range(len(trees.roots_R)), CPU)


def leaves(tokens, heads=2, kv_heads=2, width=3, dtype=torch.float64):
    draw = torch.Generator().manual_seed(tokens)
    sizes = heads, kv_heads, kv_heads
    return [torch.randn(size, tokens, width, generator=draw, dtype=dtype).requires_grad_() for size in sizes]


def dense(q, k, v, attend):
    k, v = (part.repeat_interleave(len(q) // len(part), 0) for part in (k, v))
    return torch.nn.functional.scaled_dot_product_attention(q[None], k[None], v[None], attn_mask=attend)[0]


def compare(pack, blocks, tolerance=1e-12):
    for heads, kv_heads in ((2, 2), (4, 2)):
        compare_heads(pack, blocks, leaves(len(pack), heads, kv_heads), tolerance)


def compare_heads(pack, blocks, qkv, tolerance):
    got, want = tree_attention(*qkv, blocks), dense(*qkv, pack.attend_NN)
    weights = torch.randn(want.shape, dtype=want.dtype)
    slopes = [torch.autograd.grad((x * weights).sum(), qkv) for x in (got, want)]
    assert torch.allclose(got, want, atol=tolerance)
    assert all(torch.allclose(a, b, atol=tolerance) for a, b in zip(*slopes))


def test_chain_with_two_branches_equals_dense_attention():
    # tokens 0 - 1 - 2 and 1 - 3: token 3 sees 0, 1 and itself, not 2.
    pack = pack_of([[5, 6, 7], [5, 6, 8]])
    value = torch.tensor([[[1.0], [2.0], [30.0], [6.0]]])
    out = tree_attention(torch.zeros(1, 4, 1), torch.zeros(1, 4, 1), value, pack.spans)
    assert out[0, :, 0].tolist() == pytest.approx([1, 1.5, 11, 3])


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=9), min_size=1, max_size=9),
    st.sampled_from([1, 3, 32]),
    st.sampled_from([0, 8, 8192]),
    st.sampled_from([2, 256]),
)
def test_attention_equals_the_dense_mask_for_any_cut(rows, step, overhead, longest):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "STEP", step)
        patch.setattr(module, "OVERHEAD", overhead)
        patch.setattr(module, "LONGEST", longest)
        pack = pack_of(rows)
        blocks = attention_blocks(pack.last_N, pack.depth_N.numpy(), CPU)
    assert [b.start for b in blocks] == [0, *[b.stop for b in blocks][:-1]] and blocks[-1].stop == len(pack)
    compare(pack, blocks)


def test_long_siblings_compute_few_pairs():
    draw = np.random.default_rng(0)
    prompt = draw.integers(0, 50, 512).tolist()
    pack = pack_of([prompt + [sibling] + draw.integers(0, 50, 63).tolist() for sibling in range(8)])
    assert len(pack) == 512 + 8 * 64
    needed = int((pack.depth_N + 1).sum())
    computed = sum((b.stop - b.start) * sum(stop - start for start, stop in b.keys) for b in pack.spans)
    assert needed < computed < 1.25 * needed < 0.6 * len(pack) ** 2
    compare(pack, pack.spans)


def test_bushy_tree_gets_few_blocks():
    pack = pack_of([[1, 2, sibling] for sibling in range(300)])
    assert len(pack.spans) < 10
    compare(pack, pack.spans)
