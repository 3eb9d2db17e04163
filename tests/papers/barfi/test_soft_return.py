import math

import numpy as np
import pytest
import torch

from handaxe.ops.finite_mdp import FiniteMdp, mean_return, random_mdp
from handaxe.papers.barfi.soft_return import soft_return


def test_a_bandit_matches_its_example():
    mdp = FiniteMdp(np.ones((1, 2, 1)), np.ones(1), 0.5)
    logits, reward = torch.zeros(1, 2).double(), torch.tensor([[1.0, 0.0]]).double()
    assert float(soft_return(mdp, logits, reward, discount=0.5)) == pytest.approx(1.0)
    found = float(soft_return(mdp, logits, reward, discount=0.5, entropy=1.0))
    assert found == pytest.approx(1 + 2 * math.log(2)) == pytest.approx(2.3863, abs=1e-4)


@pytest.mark.parametrize("seed", range(3))
def test_it_equals_the_return_of_numpy_and_its_gradient_finite_differences(seed):
    rng = np.random.default_rng(seed)
    mdp = random_mdp(rng, states=3, actions=2, discount=0.9)
    logits, reward = rng.normal(size=(3, 2)), rng.normal(size=(3, 2))
    policy = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    bonus = reward - 0.2 * np.log(policy)
    point = torch.tensor(logits, requires_grad=True)
    value = soft_return(mdp, point, torch.tensor(reward), discount=0.9, entropy=0.2)
    assert value.item() == pytest.approx(mean_return(mdp, policy, bonus), abs=1e-9)
    (slope,) = torch.autograd.grad(value, point)
    for place in np.ndindex(3, 2):
        step = np.zeros((3, 2))
        step[place] = 1e-5
        ends = [
            soft_return(mdp, torch.tensor(logits + sign * step), torch.tensor(reward), discount=0.9, entropy=0.2).item()
            for sign in (1, -1)
        ]
        assert slope[place].item() == pytest.approx((ends[0] - ends[1]) / 2e-5, abs=1e-6)
