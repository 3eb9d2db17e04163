import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.credit.return_to_go import return_to_go
from handaxe.evaluation.gradient_bias import BiasCase
from handaxe.ops.ragged import gather
from handaxe.testing.make_records import make_group, make_scores
from handaxe.testing.mdp import StopOrGo, exact_gradient, expected_gradient
from handaxe.testing.random_groups import random_group, random_scores

CONTRACT = [{}, {"unit": "token", "gamma": 0.9, "baseline": 0.5}]
BIAS = [
    BiasCase("return_to_go()", return_to_go, by_turn=True),
    BiasCase("return_to_go(gamma=0.9)", lambda: return_to_go(gamma=0.9), by_turn=True),
    BiasCase("return_to_go()", return_to_go, forks=True, by_turn=True),
]


def test_return_to_go_matches_the_docstring_example():
    group, scores = make_group(layouts=["Utpp tTTTTt p"]), make_scores([1], turns=[[0.5, 0]])
    by_turn = return_to_go(gamma=0.9)(group, scores).tokens[0]
    by_token = return_to_go(gamma=0.9, unit="token")(group, scores).tokens[0]
    np.testing.assert_allclose(gather(group[0], by_turn), [1.4, 1.4, 1.0])
    np.testing.assert_allclose(gather(group[0], by_token), [1.26, 1.4, 1.0])


def test_discounts_match_the_closed_form():
    """A lone outcome R, three turns of three tokens: gamma^(turns left) R or gamma^(tokens left) R."""
    group, scores = make_group(layouts=[["Utppp", "Utppp", "UtTTtppp"]]), make_scores([2])
    by_turn = gather(group[0], return_to_go(gamma=0.5)(group, scores).tokens[0])
    by_token = gather(group[0], return_to_go(gamma=0.5, unit="token")(group, scores).tokens[0])
    np.testing.assert_allclose(by_turn, 2 * 0.5 ** np.repeat([2, 1, 0], 3))
    np.testing.assert_allclose(by_token, 2 * 0.5 ** np.arange(8, -1, -1))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("unit", ["token", "turn"])
def test_return_to_go_equals_a_slow_loop(seed, unit):
    group = random_group(seed)
    scores, gamma = random_scores(group, seed), 0.8
    adv = return_to_go(gamma=gamma, unit=unit, baseline=0.2)(group, scores)
    for i, one in enumerate(group):
        written = [(k, j) for k, turn in enumerate(one.turns) for j in range(turn.start, turn.stop)]
        last = {k: place for place, (k, _) in enumerate(written)}
        for place, (k, j) in enumerate(written):
            value = -0.2
            for later in range(k, len(one.turns)):
                reward = scores.turns[i][later] + (scores.outcome[i] if later == len(one.turns) - 1 else 0)
                away = later - k if unit == "turn" else last[later] - place
                value += gamma**away * reward
            assert adv.tokens[i][one.turns[k].sequence][j] == pytest.approx(value, abs=1e-9)


def test_an_unscored_sibling_gets_zeros():
    scores = make_scores([np.nan, 1], turns=[[np.nan, np.nan], [0, 0]])
    adv = return_to_go(baseline=1.0)(make_group(size=2), scores)
    assert not adv.tokens[0][0].any()


def test_wrong_arguments_are_errors():
    with pytest.raises(InputError, match="gamma"):
        return_to_go(gamma=1.5)
    with pytest.raises(InputError, match="step"):
        return_to_go(unit="step")


@pytest.mark.parametrize("unit", ["token", "turn"])
def test_the_expected_gradient_is_exact(unit):
    world = StopOrGo()
    got = expected_gradient(world, return_to_go(unit=unit, baseline=0.4), 2)
    np.testing.assert_allclose(got, exact_gradient(world), atol=1e-12)


def test_discounts_bias_the_gradient():
    world = StopOrGo()
    assert np.abs(expected_gradient(world, return_to_go(gamma=0.5), 2) - exact_gradient(world)).max() > 1e-2
