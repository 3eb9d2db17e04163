import numpy as np
import pytest
import torch

from handaxe.ops.finite_mdp import FiniteMdp, random_mdp
from handaxe.papers.barfi.channel_weights import weight_gradient
from handaxe.papers.barfi.neumann_error import exact_gradient_of_reward, neumann_error, soft_optimum
from handaxe.papers.barfi.soft_return import soft_return

BANDIT = FiniteMdp(np.ones((1, 3, 1)), np.ones(1), 0.0)


def test_the_exact_gradient_of_a_bandit_is_the_covariance_of_the_closed_form():
    """One state, entropy 1, discount 0: p = softmax(r) and dJ/dr[a] = p[a] (R[a] - mean R)."""
    inner, outer = torch.tensor([[0.3, -0.2, 0.1]]).double(), torch.tensor([[1.0, 0.0, 2.0]]).double()
    p = torch.softmax(inner, -1)
    logits = soft_optimum(BANDIT, inner, entropy=1.0)
    found = exact_gradient_of_reward(BANDIT, logits, inner, outer, entropy=1.0)
    torch.testing.assert_close(found, p * (outer - (p * outer).sum()), atol=1e-6, rtol=0)
    # A weight of an auxiliary reward moves the reward of all arms at once: the gradient of the learner.
    auxiliary = torch.tensor([[0.5, 1.0, -1.0]]).double()
    by_weight = weight_gradient(outer[0].numpy(), auxiliary.numpy(), np.array([0.7]), temperature=0.5)
    blended = outer + 0.7 * auxiliary
    slopes = exact_gradient_of_reward(BANDIT, soft_optimum(BANDIT, blended, entropy=0.5), blended, outer, entropy=0.5)
    assert by_weight[0] == pytest.approx(float((slopes * auxiliary).sum()), abs=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_the_exact_gradient_equals_finite_differences_of_the_solved_inner_problem(seed):
    rng = np.random.default_rng(seed)
    mdp = random_mdp(rng, states=3, actions=2, discount=0.7)
    inner, outer = (torch.from_numpy(rng.normal(size=(3, 2))) for _ in range(2))

    def solved(reward):
        return soft_return(mdp, soft_optimum(mdp, reward, entropy=0.3), outer, discount=0.7).item()

    found = exact_gradient_of_reward(mdp, soft_optimum(mdp, inner, entropy=0.3), inner, outer, entropy=0.3)
    for place in np.ndindex(3, 2):
        step = torch.zeros(3, 2).double()
        step[place] = 1e-5
        slow = (solved(inner + step) - solved(inner - step)) / 2e-5
        assert found[place].item() == pytest.approx(slow, abs=1e-6)


def test_more_terms_are_closer_to_the_exact_gradient():
    found = neumann_error(0, terms=[0, 20, 200])
    assert found[0] < found[20] < found[200] == pytest.approx(1.0, abs=1e-4)
