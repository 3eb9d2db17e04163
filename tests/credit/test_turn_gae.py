import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.credit.turn_gae import turn_gae
from handaxe.evaluation.gradient_bias import BiasCase
from handaxe.testing.make_records import make_group, make_scores, make_trajectory
from handaxe.testing.mdp import StopOrGo, exact_gradient, expected_gradient
from handaxe.testing.random_groups import random_group, random_scores

CONTRACT = [{}, {"gamma": 0.9, "lam": 0.8, "bootstrap": True}]
BIAS = [
    BiasCase("turn_gae(lam=1)", lambda: turn_gae(lam=1.0), by_turn=True),
    BiasCase("turn_gae()", turn_gae, by_turn=True),
]


def test_turn_gae_matches_the_docstring_example():
    """Values at other tokens than the first of a turn, here 9, are not looked at."""
    one = make_trajectory(layouts=["Utpp tTt p tTt ppp"], features={"value": [0.5, 9, 0.6, 0.8, 9, 9]})
    group, scores = make_group(trajectories=[one]), make_scores([1])
    said = turn_gae(gamma=1, lam=0.95)(group, scores)
    mask = one.sequences[0].mask
    np.testing.assert_allclose(said.tokens[0][0][mask], [0.4705, 0.4705, 0.39, 0.2, 0.2, 0.2])
    np.testing.assert_allclose(said.returns[0][0][mask], [0.9705, 0.9705, 0.99, 1, 1, 1])
    said = turn_gae(gamma=0.9, lam=0.8)(group, scores)
    np.testing.assert_allclose(said.tokens[0][0][mask], [0.23008, 0.23008, 0.264, 0.2, 0.2, 0.2])


@pytest.mark.parametrize("seed", range(8))
def test_turn_gae_equals_a_slow_loop(seed):
    group = random_group(seed, features=("value",))
    scores, gamma, lam = random_scores(group, seed), 0.9, 0.7
    said = turn_gae(gamma=gamma, lam=lam)(group, scores)
    for i, one in enumerate(group):
        following, carried = 0.0, 0.0
        for k in range(len(one.turns) - 1, -1, -1):
            turn = one.turns[k]
            value = one.sequences[turn.sequence].features["value"][turn.start]
            reward = scores.turns[i][k] + (scores.outcome[i] if k == len(one.turns) - 1 else 0)
            carried = reward + gamma * following - value + gamma * lam * carried
            following = value
            np.testing.assert_allclose(said.tokens[i][turn.sequence][turn.start : turn.stop], carried, atol=1e-9)
            np.testing.assert_allclose(
                said.returns[i][turn.sequence][turn.start : turn.stop], carried + value, atol=1e-9
            )


def test_bootstrap_continues_a_truncated_rollout():
    cut = make_trajectory(layouts=["Utp tTt p"], features={"value": [0.2, 0.5]}, ending="truncated")
    group = make_group(trajectories=[cut])
    said = turn_gae(gamma=0.9, lam=1, bootstrap=True)(group, make_scores([1]))
    assert said.returns[0][0][-1] == pytest.approx(1 + 0.9 * 0.5)
    assert turn_gae(gamma=0.9, lam=1)(group, make_scores([1])).returns[0][0][-1] == pytest.approx(1)


def test_an_unscored_sibling_gets_zeros_and_wrong_arguments_are_errors():
    group = make_group(trajectories=[make_trajectory(layouts=["Utp"], features={"value": 0.4})] * 2)
    said = turn_gae()(group, make_scores([np.nan, 1]))
    assert not said.tokens[0][0].any() and not said.returns[0][0].any()
    with pytest.raises(InputError, match="'value'"):
        turn_gae()(make_group(size=1), make_scores([1]))
    with pytest.raises(InputError, match="lam"):
        turn_gae(lam=2)


def test_the_expected_gradient_is_exact_at_lambda_one():
    world = StopOrGo()
    np.testing.assert_allclose(expected_gradient(world, turn_gae(lam=1), 2), exact_gradient(world), atol=1e-12)
