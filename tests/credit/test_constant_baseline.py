import numpy as np

from handaxe.credit.constant_baseline import constant_baseline
from handaxe.evaluation.gradient_bias import BiasCase
from handaxe.testing.make_records import make_group, make_scores, make_trajectory
from handaxe.testing.mdp import StopOrGo, exact_gradient, expected_gradient

CONTRACT = [{}, {"baseline": 0.25}]
BIAS = [BiasCase("constant_baseline()", constant_baseline)]


def test_constant_baseline_matches_the_docstring_example():
    group = make_group(trajectories=[make_trajectory(layouts=["Utpp"], logp=-0.5)])
    adv = constant_baseline(baseline=0.25)(group, make_scores([1.0])).tokens[0][0]
    assert adv.tolist() == [0, 0, 0.75, 0.75]
    assert -adv[2] * group[0].sequences[0].logp[2] == 0.375


def test_all_sampled_tokens_get_outcome_and_turn_rewards():
    group = make_group(layouts=[["Utp", "UUtp"], "Utp"])
    adv = constant_baseline()(group, make_scores([1, 2], turns=[[0.5, 0.25], [0]]))
    assert [a.tolist() for a in adv.tokens[0]] == [[0, 0, 1.75], [0, 0, 0, 1.75]]
    assert adv.tokens[1][0].tolist() == [0, 0, 2]
    assert adv.returns is None


def test_an_unscored_sibling_gets_zero_at_any_baseline():
    adv = constant_baseline(baseline=0.5)(make_group(size=2), make_scores([np.nan, 0.5]))
    assert not adv.tokens[0][0].any()


def test_the_expected_gradient_is_exact():
    world = StopOrGo()
    for baseline in (0.0, 0.7):
        got = expected_gradient(world, constant_baseline(baseline=baseline), 2)
        np.testing.assert_allclose(got, exact_gradient(world), atol=1e-12)
