import math

import pytest
import torch

from handaxe.ops.logprob import token_collision, token_entropy, token_logp

MEASURES = (lambda x, i, t, a: token_logp(x, i, t, a),)
MEASURES += (lambda x, i, t, a: token_entropy(x, t, a), lambda x, i, t, a: token_collision(x, t, a))
ONE = torch.ones(1)


def test_example_is_shifted():
    logits = torch.tensor([[[0.0, 0.0], [math.log(3), 0.0]]])
    logp = token_logp(logits, torch.tensor([[0, 1]]), ONE)
    assert torch.allclose(logp, torch.tensor([[0.0, math.log(0.5)]]))
    third = torch.cat([logits, torch.zeros(1, 1, 2)], 1)
    logp = token_logp(third, torch.tensor([[0, 1, 1]]), ONE)
    assert torch.allclose(logp, torch.tensor([[0.0, math.log(1 / 2), math.log(1 / 4)]]))


def test_examples_of_entropy_and_collision():
    equal, skewed = torch.zeros(1, 2, 2), torch.tensor([[[math.log(3), 0.0], [9.0, 9.0]]])
    assert torch.allclose(token_entropy(equal, ONE), torch.tensor([[0.0, 0.6931]]), atol=1e-4)
    assert torch.allclose(token_collision(skewed, ONE), torch.tensor([[0.0, 0.625]]))


def test_against_a_loop():
    torch.manual_seed(0)
    logits, ids = torch.randn(3, 5, 7, dtype=torch.float64), torch.randint(0, 7, (3, 5))
    temperature = torch.tensor([1.0, 0.7, 0.0], dtype=torch.float64)  # 0 counts as 1
    got = [measure(logits, ids, temperature, None) for measure in MEASURES]
    for b, tau in enumerate((1.0, 0.7, 1.0)):
        for t in range(1, 5):
            weights = [math.exp(x / tau) for x in logits[b, t - 1].tolist()]
            p = [w / sum(weights) for w in weights]
            want = (math.log(p[ids[b, t]]), -sum(x * math.log(x) for x in p), sum(x * x for x in p))
            assert [g[b, t].item() for g in got] == pytest.approx(want, abs=1e-12)
        assert all(g[b, 0] == 0 for g in got)


@pytest.mark.parametrize("measure", MEASURES)
def test_nan_and_foreign_ids_on_padding_reach_nothing(measure):
    torch.manual_seed(0)
    clean = torch.randn(2, 4, 5, dtype=torch.float64)
    attend = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0]]).bool()
    ids = torch.tensor([[0, 1, 2, 3], [4, 0, 999, -7]])
    dirty = clean.clone()
    dirty[0, 3] = float("nan")  # predicts nothing
    dirty[1, 1:] = float("nan")
    temperature = torch.tensor([1.0, 0.5])
    grads = []
    for logits in (clean.requires_grad_(), dirty.requires_grad_()):
        value = measure(logits, ids, temperature, attend)
        assert torch.all(value[~attend] == 0) and torch.isfinite(value).all()
        value.sum().backward()
        grads.append(logits.grad)
    assert torch.equal(*grads)
    assert torch.all(grads[0][1, 1:] == 0) and torch.any(grads[0][1, 0] != 0)


def test_impossible_tokens_leave_entropy_and_its_gradient_finite():
    logits = torch.tensor([[[0.0, 0.0, -torch.inf], [0.0, 0.0, 0.0]]], requires_grad=True)
    value = token_entropy(logits, ONE)
    assert value[0, 1].item() == pytest.approx(math.log(2))
    value.sum().backward()
    assert torch.isfinite(logits.grad).all()
    assert token_collision(logits.detach(), ONE)[0, 1].item() == pytest.approx(0.5)


@pytest.mark.parametrize("dtype, out", [(torch.bfloat16, torch.float32), (torch.float64, torch.float64)])
def test_computes_in_float32_or_better(dtype, out):
    logits = torch.tensor([[[8.0, 0.0], [0.0, 0.0]]], dtype=dtype)
    got = token_logp(logits, torch.tensor([[0, 0]]), ONE)
    assert got.dtype == out
    assert got[0, 1].item() == pytest.approx(-math.log1p(math.exp(-8)), rel=1e-3)  # bfloat16 would say 0


def test_a_row_of_one_token():
    assert token_logp(torch.randn(2, 1, 3), torch.zeros(2, 1, dtype=torch.int64), torch.ones(2)).tolist() == [[0], [0]]
