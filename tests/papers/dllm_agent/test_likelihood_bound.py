import itertools
import math

import numpy as np
import pytest
import torch

from handaxe.core.errors import InputError
from handaxe.models.tiny import TinyConfig, TinyNet
from handaxe.papers.dllm_agent.denoiser import Denoiser
from handaxe.papers.dllm_agent.likelihood_bound import block_costs, exact_bound, sampled_bounds
from handaxe.papers.dllm_agent.masked_loss import corrupt, target_logp
from handaxe.papers.dllm_agent.span_mask import span_mask
from handaxe.papers.dllm_agent.span_rows import span_row

ROW = span_row([10, 11, 20, 21, 22], [(2, 5)], size=3, pad=0)


@pytest.fixture(scope="module")
def costs():
    torch.manual_seed(1)
    model = Denoiser(TinyNet(TinyConfig(vocab_size=30, width=16, layers=1, heads=2)))
    torch.nn.init.normal_(model.masked)
    return block_costs(model, ROW, span_mask(ROW), 0)


def test_constant_costs_add_up():
    """Weights of sets of 1, 2 and 3 of three tokens are 1/3, 1/6 and 1/3: 3 * 1/3 + 3 * 2/6 + 3/3 = 3."""
    assert exact_bound(lambda masked: masked.sum(axis=1), 3) == pytest.approx(3, abs=1e-12)
    assert exact_bound(lambda masked: masked.sum(axis=1) == 2, 3) == pytest.approx(0.5, abs=1e-12)


def test_costs_of_one_joint_distribution_give_its_likelihood():
    """Two binary tokens with p(x = 1, 1) = 0.4, p(1, 0) = 0.1, p(0, 1) = 0.2, scored at (1, 1)."""
    single = {(True, False): 0.4 / 0.6, (False, True): 0.4 / 0.5}
    together = math.log(0.5) + math.log(0.6)
    table = {key: -math.log(p) for key, p in single.items()} | {(True, True): -together}
    bound = exact_bound(lambda masked: np.array([table[tuple(map(bool, one))] for one in masked]), 2)
    assert bound == pytest.approx(-math.log(0.4), abs=1e-12)


def test_the_enumeration_is_the_mean_over_orders(costs):
    """-log p of a token given those before it in an order, averaged over all orders: another form of the bound."""
    total = 0.0
    for order in itertools.permutations(range(3)):
        for step in range(3):
            left = order[step:]
            masked = np.isin(np.arange(3), left)[None]
            total += float(costs(masked)[0]) / len(left)
    assert exact_bound(costs, 3) == pytest.approx(total / 6, rel=1e-6)


def test_sampled_bounds_converge_to_the_enumeration(costs):
    exact = exact_bound(costs, 3)
    drawn = sampled_bounds(costs, ROW, 0, draws=1500, seed=0)
    error = drawn.std(ddof=1) / math.sqrt(len(drawn))
    assert abs(drawn.mean() - exact) < 3.5 * error < 0.2 * exact


def test_costs_of_a_set_are_the_log_probs_of_its_tokens():
    torch.manual_seed(2)
    model = Denoiser(TinyNet(TinyConfig(vocab_size=30, width=16, layers=1, heads=2)))
    masked = np.array([0, 0, 0, 0, 0, 0, 1, 0, 1], bool)
    batch = corrupt([ROW], [span_mask(ROW)], [masked], [np.ones(9)])
    expected = -target_logp(model, batch).sum().item()
    found = block_costs(model, ROW, span_mask(ROW), 0)(np.array([[True, False, True], [False, False, False]]))
    assert found.tolist() == pytest.approx([expected, 0], rel=1e-5)


def test_bad_blocks_and_sizes_are_refused(costs):
    with pytest.raises(InputError, match="no block 1"):
        block_costs(None, ROW, span_mask(ROW), 1)
    with pytest.raises(InputError, match="1 to 12"):
        exact_bound(costs, 13)
