import itertools

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.ops.finite_mdp import FiniteMdp, random_mdp
from handaxe.papers.starc.earlier_distances import dard_distance, epic_distance
from handaxe.papers.starc.reward_pairs import equivalent_reward

BANDIT = FiniteMdp(np.ones((1, 2, 1)), np.ones(1), 0.0)
BOTH = [epic_distance, dard_distance]


def arms(*values):
    return np.array(values, float).reshape(1, 2, 1)


def drawn(seed, discount=0.8):
    rng = np.random.default_rng(seed)
    mdp = random_mdp(rng, states=3, actions=2, discount=discount)
    return rng, mdp, [rng.normal(size=(3, 2, 3)) for _ in range(3)]


@pytest.mark.parametrize("distance", BOTH)
def test_a_bandit_matches_the_numbers_worked_by_hand(distance):
    assert distance(BANDIT, arms(1, 0), arms(3, 1)) == pytest.approx(0.0, abs=1e-9)
    assert distance(BANDIT, arms(1, 0), arms(0, 1)) == pytest.approx(1.0)
    assert distance(BANDIT, arms(1, 0), arms(2, 2)) == pytest.approx(0.5)
    assert distance(BANDIT, arms(1, 1), arms(2, 2)) == 0.0


def test_a_chain_of_two_states_by_hand():
    """One action from state 0 to 1 and from 1 to 1, discount 0.5; R(0, 1) = 1, R(1, 0) = 2 and 0 else."""
    mdp = FiniteMdp(np.array([[[0.0, 1.0]], [[0.0, 1.0]]]), np.array([1.0, 0.0]), 0.5)
    first = np.array([[[0.0, 1.0]], [[2.0, 0.0]]])
    second = np.array([[[1.0, 0.0]], [[0.0, 0.0]]])
    # EPIC: means of the states 0.5 and 1, of all 0.75, so c = R + m[z] / 2 - m[s] - 0.375:
    # (0.25 - 0.5 - 0.375, 1 + 0.5 - 0.5 - 0.375), (2 + 0.25 - 1 - 0.375, 0.5 - 1 - 0.375)
    epic = np.array([-0.625, 0.625, 0.875, -0.875])
    # second: means 0.5 and 0, of all 0.25: (1 + 0.25 - 0.5 - 0.125, -0.5 - 0.125), (0.25 - 0.125, -0.125)
    other = np.array([0.625, -0.625, 0.125, -0.125])
    rho = epic @ other / (np.linalg.norm(epic) * np.linalg.norm(other))
    assert epic_distance(mdp, first, second) == pytest.approx(((1 - rho) / 2) ** 0.5)
    # DARD: expected rewards of the states R(0, 1) = 1 and R(1, 1) = 0; S' = S'' = 1, so that the last term is 0:
    # c = R + e[z] / 2 - e[s]: (0.5 - 1, 1 - 1), (2 + 0.5, 0)
    dard = np.array([-0.5, 0.0, 2.5, 0.0])
    # second: expected rewards 0 and 0, last term 0: c = R
    plain = np.array([1.0, 0.0, 0.0, 0.0])
    assert dard_distance(mdp, first, second) == pytest.approx(((1 - np.corrcoef(dard, plain)[0, 1]) / 2) ** 0.5)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("distance", BOTH)
def test_the_distance_matches_a_slow_loop(distance, seed):
    _, mdp, (first, second, _) = drawn(seed)
    p = mdp.transition_SAZ
    states, actions = range(3), range(2)

    def mean(reward, s, z):
        """Expectation of the three terms, by drawing everything."""
        total = 0.0
        for a in actions:
            if distance is epic_distance:
                for x in states:
                    total += (mdp.discount * reward[z, a, x] - reward[s, a, x]) / 6
                for y, x in itertools.product(states, states):
                    total -= mdp.discount * reward[y, a, x] / 18
            else:
                for x in states:
                    total += (mdp.discount * p[z, a, x] * reward[z, a, x] - p[s, a, x] * reward[s, a, x]) / 2
                for y, x in itertools.product(states, states):
                    total -= mdp.discount * p[s, a, y] * p[z, a, x] * reward[y, a, x] / 2
        return total

    def canonical(reward):
        return [reward[s, a, z] + mean(reward, s, z) for s in states for a in actions for z in states]

    rho = np.corrcoef(canonical(first), canonical(second))[0, 1]
    assert distance(mdp, first, second) == pytest.approx(((1 - rho) / 2) ** 0.5, abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("distance", BOTH)
def test_shaping_and_scale_change_nothing_and_redistribution_does(distance, seed):
    rng, mdp, (first, second, _) = drawn(seed)
    potential = rng.normal(size=3)
    shaped = 3 * first + (mdp.discount * potential[None, :] - potential[:, None])[:, None, :]
    assert distance(mdp, first, shaped) == pytest.approx(0.0, abs=1e-7)
    assert distance(mdp, shaped, second) == pytest.approx(distance(mdp, first, second), abs=1e-9)
    assert distance(mdp, first, equivalent_reward(rng, mdp, first)) > 0.01


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("distance", BOTH)
def test_it_is_a_pseudometric(distance, seed):
    _, mdp, (a, b, c) = drawn(seed)
    assert distance(mdp, a, a) == pytest.approx(0.0, abs=1e-9)
    assert distance(mdp, a, b) == pytest.approx(distance(mdp, b, a))
    assert distance(mdp, a, c) <= distance(mdp, a, b) + distance(mdp, b, c) + 1e-12
    assert 0 <= distance(mdp, a, b) <= 1


@pytest.mark.parametrize("distance", BOTH)
def test_a_reward_of_another_shape_is_refused(distance):
    with pytest.raises(InputError, match="a reward has shape"):
        distance(BANDIT, np.zeros((1, 2)), arms(1, 0))
