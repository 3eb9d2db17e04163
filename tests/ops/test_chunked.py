import math

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_iter

from handaxe.ops import chunked
from handaxe.ops.chunked import chunked_measures
from handaxe.ops.logprob import token_collision, token_entropy, token_logp

ALL = ("logp", "entropy", "collision")


class Largest(TorchDispatchMode):
    """Records the largest number of entries of a result tensor."""

    def __init__(self):
        super().__init__()
        self.entries = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        sizes = [x.numel() for x in tree_iter(out) if isinstance(x, torch.Tensor)]
        self.entries = max([self.entries, *sizes])
        return out


def case(tokens, vocabulary, width=5, dtype=torch.float64, bias=True):
    draw = torch.Generator().manual_seed(tokens * vocabulary)
    hidden = torch.randn(tokens, width, generator=draw, dtype=dtype)
    weight, offset = (torch.randn(vocabulary, *rest, generator=draw, dtype=dtype) for rest in ([width], []))
    ids = torch.randint(0, vocabulary, (tokens,), generator=draw)
    temperature = torch.tensor([1.0, 0.7, 0.0] * tokens)[:tokens].to(dtype)
    leaves = [hidden, weight] + ([offset] if bias else [])
    return [leaf.requires_grad_() for leaf in leaves], ids, temperature


def plain(leaves, ids, temperature):
    logits = torch.nn.functional.linear(*leaves)
    measures = (
        token_logp(logits, ids, temperature),
        token_entropy(logits, temperature),
        token_collision(logits, temperature),
    )
    return dict(zip(ALL, measures))


def pieces(leaves, ids, temperature, names=ALL, entries=64):
    weight, bias = leaves[1], leaves[2] if len(leaves) == 3 else None
    return chunked_measures(leaves[0], weight, bias, ids, temperature, names=names, entries=entries)


def gradients(found, leaves, seed=0):
    draw = torch.Generator().manual_seed(seed)
    total = 0.0
    for name in ALL:
        weights = torch.randn(len(leaves[0]), generator=draw).to(leaves[0].dtype)
        total = total + (found[name] * weights).sum() if name in found else total
    return torch.autograd.grad(total, leaves)


def close(got, want, tolerance):
    return all(((a - b).abs() <= tolerance * (1 + b.abs().max())).all() for a, b in zip(got, want, strict=True))


def test_chunked_logp_equals_the_example():
    hidden, weight = torch.ones(1, 1), torch.tensor([[math.log(3)], [0.0]])
    found = chunked_measures(hidden, weight, None, torch.tensor([1]), torch.ones(1), names=ALL, entries=1)
    assert found["logp"].item() == pytest.approx(math.log(1 / 4))
    assert found["collision"].item() == pytest.approx(0.625)
    assert found["entropy"].item() == pytest.approx(math.log(4) - 0.75 * math.log(3))


@pytest.mark.parametrize("dtype, tolerance", [(torch.float64, 1e-12), (torch.float32, 1e-6)])
@pytest.mark.parametrize("tokens, vocabulary, entries", [(7, 50, 64), (1, 9, 1), (40, 33, 33), (3, 8, 10**6)])
@pytest.mark.parametrize("bias", [True, False])
def test_values_and_gradients_equal_full_logits(dtype, tolerance, tokens, vocabulary, entries, bias, monkeypatch):
    monkeypatch.setattr(chunked, "NARROWEST", 8)
    exact, ids, temperature = case(tokens, vocabulary, bias=bias)
    leaves = [leaf.detach().to(dtype).requires_grad_() for leaf in exact]
    exact = [leaf.detach().double().requires_grad_() for leaf in leaves]
    want, got = plain(exact, ids, temperature), pieces(leaves, ids, temperature, entries=entries)
    assert close(got.values(), [want[name] for name in got], tolerance)
    assert close(gradients(got, leaves), gradients(want, exact), tolerance)


@pytest.mark.parametrize("names", [("logp",), ("entropy",), ("collision",), ("collision", "logp")])
def test_each_measure_can_be_requested_alone(names):
    leaves, ids, temperature = case(6, 40)
    want, got = plain(leaves, ids, temperature), pieces(leaves, ids, temperature, names)
    assert set(got) == set(names)
    assert close(gradients(got, leaves), gradients({name: want[name] for name in got}, leaves), 1e-12)


def test_tied_weights_accumulate_both_gradients():
    weight = torch.randn(30, 4, dtype=torch.float64, requires_grad=True)
    ids, temperature = torch.tensor([3, 7, 29]), torch.ones(3, dtype=torch.float64)
    got = pieces([weight[ids] * 2, weight], ids, temperature, ("logp",))["logp"].sum()
    want = token_logp(weight[ids] * 2 @ weight.T, ids, temperature).sum()
    assert close(torch.autograd.grad(got, weight), torch.autograd.grad(want, weight), 1e-12)


def test_frozen_head_gets_no_gradient():
    leaves, ids, temperature = case(6, 40)
    frozen = [leaves[0], leaves[1].detach(), leaves[2].detach()]
    found = torch.autograd.grad(pieces(frozen, ids, temperature)["logp"].sum(), leaves[0])
    want = torch.autograd.grad(plain(leaves, ids, temperature)["logp"].sum(), leaves[0])
    assert close(found, want, 1e-12)


def test_impossible_tokens_and_huge_logits_stay_finite():
    hidden = torch.full((2, 1), 100.0, requires_grad=True)
    weight = torch.tensor([[9.0], [9.0], [-9.0], [1.0]], requires_grad=True)
    bias = torch.tensor([0.0, 0.0, -torch.inf, -torch.inf])
    ids = torch.tensor([0, 1])
    for entries in (1, 4, 100):
        found = chunked_measures(hidden, weight, bias, ids, torch.ones(2), names=ALL, entries=entries)
        assert found["logp"].tolist() == pytest.approx([-math.log(2)] * 2)
        assert found["entropy"].tolist() == pytest.approx([math.log(2)] * 2)
        assert found["collision"].tolist() == pytest.approx([0.5] * 2)
        slopes = torch.autograd.grad(sum(value.sum() for value in found.values()), [hidden, weight])
        assert all(torch.isfinite(slope).all() for slope in slopes)


def test_no_tensor_of_tokens_times_vocabulary_is_allocated():
    tokens, vocabulary, entries = 512, 4000, 2**16
    leaves, ids, temperature = case(tokens, vocabulary, width=3, dtype=torch.float32)

    def largest(measure):
        with Largest() as seen:
            gradients({"logp": measure(leaves, ids, temperature)["logp"]}, leaves)
        return seen.entries

    assert largest(lambda *given: pieces(*given, names=("logp",), entries=entries)) <= entries
    assert largest(lambda *given: pieces(*given, names=ALL, entries=entries)) <= entries
    assert largest(plain) == tokens * vocabulary  # the test can fail


def test_half_precision_input_is_summed_in_float32():
    leaves, ids, temperature = case(5, 40, dtype=torch.bfloat16)
    found = pieces(leaves, ids, temperature)
    want = plain([leaf.float() for leaf in leaves], ids, temperature)
    assert all(found[name].dtype == torch.float32 for name in ALL)
    assert close(found.values(), want.values(), 0.1)
    assert gradients(found, leaves)[1].dtype == torch.bfloat16


def test_zero_tokens_give_empty_results():
    leaves, ids, temperature = case(0, 40)
    found = pieces(leaves, ids, temperature)
    assert all(value.shape == (0,) for value in found.values())
    assert torch.autograd.grad(found["logp"].sum(), leaves[1])[0].abs().sum() == 0
