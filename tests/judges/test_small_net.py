import numpy as np
import pytest

from handaxe.core.deferred import torch
from handaxe.core.errors import InputError
from handaxe.judges.small_net import SmallNet, minimise


def test_the_output_equals_a_slow_loop():
    net = SmallNet(3, 2, hidden=4, seed=1)
    input_NF = np.random.default_rng(0).normal(size=(5, 3))
    input_NF[:, 2] = 7.0
    net.scale(input_NF)
    first, bias, last = (one.detach().numpy() for one in net.weights)
    for n, row in enumerate(input_NF):
        x = [(row[f] - input_NF[:, f].mean()) / input_NF[:, f].std() if f < 2 else 0.0 for f in range(3)]
        hidden = [np.tanh(sum(x[f] * first[f, h] for f in range(3)) + bias[h]) for h in range(4)]
        own = [sum(hidden[h] * last[h, k] for h in range(4)) for k in range(2)]
        np.testing.assert_allclose(net.values(input_NF)[n], own, atol=1e-9)


def test_minimise_lowers_a_loss_without_torchs_random_state():
    input_NF = np.random.default_rng(0).normal(size=(20, 2))
    target_N1 = torch.from_numpy(input_NF[:, :1])
    net = SmallNet(2, 1, seed=0)
    before = torch.random.get_rng_state()

    def loss():
        return ((net(input_NF) - target_N1) ** 2).mean()

    first = float(loss().detach())
    assert minimise(loss, net, steps=100) < 0.1 * first
    assert torch.equal(before, torch.random.get_rng_state())


def test_a_seed_gives_the_same_weights_and_another_seed_others():
    same, again, other = (SmallNet(2, 1, seed=seed).weights[0] for seed in (0, 0, 1))
    assert torch.equal(same, again) and not torch.equal(same, other)


def test_numbers_below_one_are_errors():
    with pytest.raises(InputError, match="size and outputs from 1"):
        SmallNet(0, 1)
    with pytest.raises(InputError, match="steps is 0"):
        minimise(lambda: torch.zeros(()), steps=0)
