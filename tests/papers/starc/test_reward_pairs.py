import numpy as np
import pytest

from handaxe.ops.finite_mdp import FiniteMdp, expected_reward, random_mdp
from handaxe.papers.starc.regret import mutual_regret
from handaxe.papers.starc.reward_pairs import equivalent_reward, reward_pairs


def drawn(seed):
    rng = np.random.default_rng(seed)
    return rng, random_mdp(rng, states=3, actions=2, discount=0.9)


def test_pairs_go_from_equal_to_independent():
    rng, mdp = drawn(0)
    pairs = reward_pairs(rng, mdp, count=5, equivalents=False)
    np.testing.assert_array_equal(*pairs[0])
    repeated = reward_pairs(drawn(0)[0], mdp, count=5, equivalents=False)
    assert len(pairs) == len(repeated) == 5
    # A quarter of the way, the second has 3 / 4 of the first.
    assert np.corrcoef(pairs[1][0].ravel(), pairs[1][1].ravel())[0, 1] > 0.7


@pytest.mark.parametrize("seed", range(5))
def test_an_equivalent_reward_has_no_regret(seed):
    rng, mdp = drawn(seed)
    reward = rng.normal(size=(3, 2, 3))
    changed = equivalent_reward(rng, mdp, reward)
    assert mutual_regret(mdp, reward, changed) == pytest.approx(0.0, abs=1e-7)
    assert np.abs(changed - reward).max() > 0.1


def test_one_state_has_scale_and_potential_alone():
    mdp = FiniteMdp(np.ones((1, 2, 1)), np.ones(1), 0.5)
    changed = expected_reward(mdp, equivalent_reward(np.random.default_rng(1), mdp, np.array([[[1.0], [0.0]]])))
    assert 0.5 <= changed[0, 0] - changed[0, 1] <= 2.0
