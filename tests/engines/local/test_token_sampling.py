import math

import numpy as np
import pytest
import torch

from handaxe.core.records import Sampling
from handaxe.engines.local.token_sampling import draw, draw_rules, most_likely, uniforms

LOGITS = torch.tensor([[0.5, 0.3, 0.2]]).log().double()
CPU = torch.device("cpu")


def drawn(logits, u, *samplings):
    return draw(logits, torch.tensor(u, dtype=torch.float64), draw_rules(samplings, CPU))


def draw_one(u, **sampling):
    out = drawn(LOGITS, [u], Sampling(**sampling))
    return out.ids_B.item(), out.logp_B.item(), out.behaviour_logp_B.item()


def test_draw_gives_the_docstring_examples():
    assert draw_one(0.6) == (1, pytest.approx(math.log(0.3)), pytest.approx(math.log(0.3)))
    assert draw_one(0.6, top_p=0.75) == (0, pytest.approx(math.log(0.5)), pytest.approx(math.log(0.5 / 0.8)))


@pytest.mark.parametrize(
    "cut, support",
    [
        ({"top_k": 1}, [0]),
        ({"top_k": 2}, [0, 1]),
        ({"top_k": 9}, [0, 1, 2]),
        ({"top_p": 1e-9}, [0]),
        ({"top_p": 0.5}, [0]),
        ({"top_p": 0.51}, [0, 1]),
        ({"top_p": 0.81}, [0, 1, 2]),
        ({"top_k": 2, "top_p": 0.6}, [0]),  # 0.5 / 0.8 of the mass after top_k
        ({"top_k": 2, "top_p": 0.63}, [0, 1]),
    ],
)
def test_draws_stay_in_the_support_of_top_k_and_top_p(cut, support):
    grid = [(i + 0.5) / 200 for i in range(200)]
    out = drawn(LOGITS.expand(200, 3), grid, *[Sampling(**cut)] * 200)
    assert sorted(set(out.ids_B.tolist())) == support
    mass = sum([0.5, 0.3, 0.2][v] for v in support)
    assert torch.allclose(out.behaviour_logp_B, out.logp_B - math.log(mass))


def oracle(logits, u, sampling):
    """Sample one row with Python numbers."""
    weights = [math.exp(x / sampling.temperature) for x in logits]
    p = [w / sum(weights) for w in weights]
    best = sorted(range(len(p)), key=lambda v: (-p[v], v))[: sampling.top_k or len(p)]
    kept, total = [], sum(p[v] for v in best)
    for v in best:
        if sampling.top_p < 1 and sum(p[w] for w in kept) >= sampling.top_p * total:
            break
        kept.append(v)
    mass, passed = sum(p[v] for v in kept), 0.0
    for v in sorted(kept):
        passed += p[v]
        if passed > u * mass:
            break
    return v, math.log(p[v]), math.log(p[v] / mass)


def test_draws_equal_a_python_loop():
    rng = np.random.default_rng(0)
    logits = torch.from_numpy(rng.normal(size=(300, 9)) * 2)
    u = rng.random(300).tolist()
    samplings = [
        Sampling(float(rng.uniform(0.2, 2)), float(rng.choice([0.3, 0.9, 1.0])), int(rng.integers(0, 7)))
        for _ in range(300)
    ]
    out = drawn(logits, u, *samplings)
    for b in range(300):
        token, logp, behaviour = oracle(logits[b].tolist(), u[b], samplings[b])
        assert out.ids_B[b] == token
        assert (out.logp_B[b].item(), out.behaviour_logp_B[b].item()) == pytest.approx((logp, behaviour), abs=1e-9)


def test_draw_of_a_row_does_not_depend_on_other_rows():
    logits = torch.randn(6, 50, generator=torch.Generator().manual_seed(0))
    samplings = [Sampling(), Sampling(top_k=3), Sampling(0), Sampling(top_p=0.4), Sampling(0.5), Sampling()]
    u = uniforms(0, 6).tolist()
    together = drawn(logits, u, *samplings)
    for b in range(6):
        alone = drawn(logits[b : b + 1], u[b : b + 1], samplings[b])
        assert all(torch.equal(x[b], y[0]) for x, y in zip(together, alone))


def test_draw_frequencies_match_the_distribution():
    out = drawn(LOGITS.expand(5000, 3), uniforms(1, 5000).tolist(), *[Sampling()] * 5000)
    share = np.bincount(out.ids_B, minlength=3) / 5000
    assert np.all(np.abs(share - [0.5, 0.3, 0.2]) < 4 * np.sqrt(0.25 / 5000))


@pytest.mark.parametrize("u", [0.0, 0.25, 0.5, 1 - 2**-53])
def test_tokens_of_zero_probability_are_never_drawn(u):
    inf = -torch.inf
    logits = torch.tensor([[inf, 0.0, inf, 0.0, inf]])
    out = drawn(logits.repeat(2, 1), [u, u], Sampling(), Sampling(top_p=0.9))
    assert set(out.ids_B.tolist()) <= {1, 3} and torch.isfinite(out.logp_B).all()


def test_greedy_takes_the_most_likely_token_at_any_u():
    for u in (0.0, 0.99):
        assert draw_one(u, temperature=0) == (0, pytest.approx(math.log(0.5)), 0.0)
    out = drawn(LOGITS.flip(1), [0.0], Sampling(temperature=0, top_k=1))
    assert (out.ids_B.item(), out.behaviour_logp_B.item()) == (2, 0.0)


def test_top_k_keeps_equally_likely_tokens_in_order_of_id():
    out = drawn(torch.zeros(100, 4), [i / 100 for i in range(100)], *[Sampling(top_k=2)] * 100)
    assert set(out.ids_B.tolist()) == {0, 1}


def test_nonfinite_logits_give_nan_logp():
    out = drawn(torch.full((1, 3), torch.nan), [0.5], Sampling())
    assert torch.isnan(out.logp_B).all() and 0 <= out.ids_B.item() < 3


def test_uniforms_of_a_larger_count_start_with_equal_numbers():
    assert np.array_equal(uniforms(5, 4), uniforms(5, 9)[:4])
    assert not np.array_equal(uniforms(5, 4), uniforms(6, 4))
    big = uniforms(2**63 - 1, 1000)
    assert big.min() >= 0 and big.max() < 1


def test_most_likely_tokens_come_first_with_their_log_probs():
    (found,) = most_likely(LOGITS[:1], 2, temperature=1.0)
    assert found == [(0, pytest.approx(math.log(0.5))), (1, pytest.approx(math.log(0.3)))]
    (sharp,) = most_likely(LOGITS[:1], 9, temperature=0.5)
    total = 0.5**2 + 0.3**2 + 0.2**2
    assert sharp == [(k, pytest.approx(math.log(p**2 / total))) for k, p in enumerate((0.5, 0.3, 0.2))]
    assert most_likely(LOGITS[:1], 2, temperature=0.0) == [found], "greedy sampling reports temperature 1"
