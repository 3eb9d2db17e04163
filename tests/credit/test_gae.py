import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.credit.gae import gae
from handaxe.credit.return_to_go import return_to_go
from handaxe.evaluation.gradient_bias import BiasCase
from handaxe.ops.ragged import gather
from handaxe.testing.make_records import make_group, make_scores, make_trajectory
from handaxe.testing.mdp import StopOrGo, exact_gradient, expected_gradient
from handaxe.testing.random_groups import random_group, random_scores

CONTRACT = [{}, {"gamma": 0.9, "lam": 0.8, "kl_coefficient": 0.1, "bootstrap": True}]
BIAS = [BiasCase("gae(lam=1)", lambda: gae(lam=1.0)), BiasCase("gae()", gae)]

VALUES = [0.5, 0.6, 0.8]


def flat(group, advantages):
    return gather(group[0], advantages.tokens[0]), gather(group[0], advantages.returns[0])


@pytest.mark.parametrize("layouts", [["Utppp"], ["Utpp tTt p"], ["Utp tTTTt p", "UUtTtp"]], ids=str)
def test_gae_matches_the_docstring_example_at_any_place_of_observations(layouts):
    one = make_trajectory(layouts=layouts, features={"value": VALUES}, off_mask=np.nan)
    group, scores = make_group(trajectories=[one]), make_scores([1])
    adv, target = flat(group, gae(gamma=1, lam=0.95)(group, scores))
    np.testing.assert_allclose(adv, [0.4705, 0.39, 0.2])
    np.testing.assert_allclose(target, [0.9705, 0.99, 1.0])
    adv, _ = flat(group, gae(gamma=0.9, lam=0.8)(group, scores))
    np.testing.assert_allclose(adv, [0.23008, 0.264, 0.2])


@pytest.mark.parametrize("seed", range(8))
def test_gae_equals_a_loop_over_masked_tokens(seed):
    """The released form: walk back over every token of the padded row; a masked one leaves what is carried alone."""
    group = random_group(seed, features=("value", "old_logp", "ref_logp"), off_mask=3.0)
    scores, gamma, lam, beta = random_scores(group, seed), 0.9, 0.7, 0.2
    said = gae(gamma=gamma, lam=lam, kl_coefficient=beta)(group, scores)
    for i, one in enumerate(group):
        ends = {(turn.sequence, turn.stop - 1): k for k, turn in enumerate(one.turns)}
        following, carried = 0.0, 0.0
        for s in range(len(one.sequences) - 1, -1, -1):
            row = one.sequences[s]
            for t in range(len(row) - 1, -1, -1):
                if row.author[t] != 3:
                    assert said.tokens[i][s][t] == said.returns[i][s][t] == 0
                    continue
                reward = -beta * (row.features["old_logp"][t] - row.features["ref_logp"][t])
                if (s, t) in ends:
                    k = ends[s, t]
                    reward += scores.turns[i][k] + (scores.outcome[i] if k == len(one.turns) - 1 else 0)
                value = row.features["value"][t]
                carried = reward + gamma * following - value + gamma * lam * carried
                following = value
                assert said.tokens[i][s][t] == pytest.approx(carried, abs=1e-9)
                assert said.returns[i][s][t] == pytest.approx(carried + value, abs=1e-9)


def test_bootstrap_continues_a_truncated_rollout():
    cut = make_trajectory(layouts=["Utppp"], features={"value": VALUES}, ending="truncated")
    whole = make_trajectory(layouts=["Utppp"], features={"value": VALUES})
    for one, last in ((cut, 0.8), (whole, 0.0)):
        group = make_group(trajectories=[one])
        _, target = flat(group, gae(gamma=0.9, lam=1, bootstrap=True)(group, make_scores([1])))
        np.testing.assert_allclose(target[-1], 1 + 0.9 * last)
        np.testing.assert_allclose(target[0], 0.9**2 * (1 + 0.9 * last))
        _, plain = flat(group, gae(gamma=0.9, lam=1)(group, make_scores([1])))
        np.testing.assert_allclose(plain[-1], 1)


def test_lambda_one_is_the_return_minus_the_value():
    group = random_group(3, features=("value",))
    scores = random_scores(group, 3)
    left, right = gae(gamma=0.9, lam=1)(group, scores), return_to_go(gamma=0.9, unit="token")(group, scores)
    for i, one in enumerate(group):
        np.testing.assert_allclose(gather(one, left.returns[i]), gather(one, right.tokens[i]), atol=1e-12)


def test_an_unscored_sibling_trains_neither_policy_nor_critic():
    group = make_group(trajectories=[make_trajectory(layouts=["Utp"], features={"value": 0.4})] * 2)
    said = gae()(group, make_scores([np.nan, 1]))
    assert not said.tokens[0][0].any() and not said.returns[0][0].any()


def test_missing_features_and_wrong_arguments_are_errors():
    with pytest.raises(InputError, match="'value'"):
        gae()(make_group(size=1), make_scores([1]))
    group = make_group(trajectories=[make_trajectory(layouts=["Utp"], features={"value": 0.4})])
    with pytest.raises(InputError, match="'old_logp'"):
        gae(kl_coefficient=0.1)(group, make_scores([1]))
    for wrong in ({"gamma": 1.1}, {"lam": -0.1}):
        with pytest.raises(InputError, match="gamma"):
            gae(**wrong)


def test_the_expected_gradient_is_exact_at_any_critic():
    for values in ((0.3, -0.2, 0.6), (-5.0, 9.0, 1.0)):
        world = StopOrGo(value=values)
        np.testing.assert_allclose(expected_gradient(world, gae(lam=1), 2), exact_gradient(world), atol=1e-12)


def test_lambda_below_one_depends_on_the_critic():
    world = StopOrGo()
    assert np.abs(expected_gradient(world, gae(lam=0.5), 2) - exact_gradient(world)).max() > 1e-2
