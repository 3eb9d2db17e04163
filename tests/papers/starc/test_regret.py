import itertools

import numpy as np
import pytest

from handaxe.ops.finite_mdp import FiniteMdp, expected_reward, mean_return, random_mdp
from handaxe.papers.starc.regret import mutual_regret, regret

BANDIT = FiniteMdp(np.ones((1, 3, 1)), np.ones(1), 0.0)


def arms(*values):
    return np.array(values, float).reshape(1, 3, 1)


def test_a_bandit_matches_the_numbers_worked_by_hand():
    """The proxy's best arm has 1 of 0 to 4: regret 3 / 4; the true best arm has 0 of 0 to 2: regret 1."""
    true, proxy = arms(4, 1, 0), arms(0, 2, 1)
    assert regret(BANDIT, true, proxy) == pytest.approx(0.75)
    assert regret(BANDIT, proxy, true) == pytest.approx(1.0)
    assert mutual_regret(BANDIT, true, proxy) == pytest.approx(0.875)
    assert regret(BANDIT, true, 2 * true + 1) == 0.0 and regret(BANDIT, arms(1, 1, 1), true) == 0.0


@pytest.mark.parametrize("seed", range(4))
def test_regret_matches_a_loop_over_all_deterministic_policies(seed):
    rng = np.random.default_rng(seed)
    mdp = random_mdp(rng, states=3, actions=2, discount=0.7)
    true, proxy = (rng.normal(size=(3, 2, 3)) for _ in range(2))
    returns = {
        acts: [mean_return(mdp, np.eye(2)[list(acts)], expected_reward(mdp, one)) for one in (true, proxy)]
        for acts in itertools.product(range(2), repeat=3)
    }
    of_true = [one for one, _ in returns.values()]
    chosen = max(returns.values(), key=lambda pair: pair[1])[0]
    slow = (max(of_true) - chosen) / (max(of_true) - min(of_true))
    assert regret(mdp, true, proxy) == pytest.approx(slow, abs=1e-6)
