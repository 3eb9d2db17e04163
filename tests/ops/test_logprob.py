import math

import pytest
import torch

from handaxe.ops.logprob import softmax_temperature, token_collision, token_entropy, token_logp

ONE = torch.ones(1)


def test_logp_entropy_and_collision_equal_the_examples():
    skewed = torch.tensor([[math.log(3), 0.0]])
    assert token_logp(skewed, torch.tensor([1]), ONE).item() == pytest.approx(math.log(1 / 4))
    assert token_entropy(torch.zeros(1, 2), ONE).item() == pytest.approx(0.6931, abs=1e-4)
    assert token_collision(skewed, ONE).item() == pytest.approx(0.625)


def test_measures_equal_a_slow_loop():
    torch.manual_seed(0)
    logits, ids = torch.randn(6, 7, dtype=torch.float64), torch.randint(0, 7, (6,))
    taus = [1.0, 0.7, 0.0, 2.0, 0.0, 0.3]
    temperature = torch.tensor(taus, dtype=torch.float64)  # 0 counts as 1
    got = token_logp(logits, ids, temperature), token_entropy(logits, temperature), token_collision(logits, temperature)
    for m, tau in enumerate(taus):
        weights = [math.exp(x / (tau or 1.0)) for x in logits[m].tolist()]
        p = [w / sum(weights) for w in weights]
        want = (math.log(p[ids[m]]), -sum(x * math.log(x) for x in p), sum(x * x for x in p))
        assert [g[m].item() for g in got] == pytest.approx(want, abs=1e-12)


def test_entropy_is_finite_with_impossible_tokens():
    logits = torch.tensor([[0.0, 0.0, -torch.inf]], requires_grad=True)
    value = token_entropy(logits, ONE)
    assert value.item() == pytest.approx(math.log(2))
    value.sum().backward()
    assert torch.isfinite(logits.grad).all()
    assert token_collision(logits.detach(), ONE).item() == pytest.approx(0.5)


@pytest.mark.parametrize("dtype, out", [(torch.bfloat16, torch.float32), (torch.float64, torch.float64)])
def test_softmax_is_computed_in_float32_or_better(dtype, out):
    got = token_logp(torch.tensor([[8.0, 0.0]], dtype=dtype), torch.tensor([0]), ONE)
    assert got.dtype == out
    assert got.item() == pytest.approx(-math.log1p(math.exp(-8)), rel=1e-3)  # bfloat16 would say 0


def test_zero_tokens_and_temperature_zero_are_accepted():
    assert token_logp(torch.zeros(0, 3), torch.zeros(0, dtype=torch.int64), torch.ones(0)).shape == (0,)
    assert softmax_temperature(torch.tensor([0.0, 0.5]), torch.float64).tolist() == [1.0, 0.5]
