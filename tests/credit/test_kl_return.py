import numpy as np
import pytest

from handaxe.advantages.batch_whiten import batch_whiten
from handaxe.core.errors import InputError
from handaxe.core.records import RatedGroup
from handaxe.credit.kl_return import kl_return
from handaxe.evaluation.gradient_bias import BiasCase
from handaxe.ops.ragged import gather
from handaxe.testing.make_records import make_group, make_scores, make_trajectory
from handaxe.testing.mdp import StopOrGo, exact_gradient, expected_gradient
from handaxe.testing.random_groups import random_group, random_scores

GROUP = {"baseline": "group"}
CONTRACT = [{}, {"kl_coefficient": 0.1, "gamma": 0.9}, {"kl_coefficient": 0.1, **GROUP}, GROUP]
BIAS = [
    BiasCase("kl_return()", kl_return),
    BiasCase('kl_return(baseline="group")', lambda: kl_return(baseline="group")),
]

FEATURES = {"old_logp": [-0.5, -1.0], "ref_logp": [-1.0, -0.8]}


def test_kl_return_matches_the_docstring_example():
    one = make_trajectory(layouts=["Utp tTt p"], features=FEATURES, off_mask=np.nan)
    group = make_group(trajectories=[one])
    adv = kl_return(kl_coefficient=0.1)(group, make_scores([1]))
    np.testing.assert_allclose(gather(one, adv.tokens[0]), [0.97, 1.02])


def test_batch_whiten_gives_the_docstring_example():
    group = make_group(layouts=["Utp"] * 3)
    scores = make_scores([1, 1, 0])
    adv = kl_return()(group, scores)
    assert [own[0][2] for own in adv.tokens] == [1, 1, 0]
    (white,) = batch_whiten()([RatedGroup.of(group, scores, adv, trained=np.array([True] * 3))])
    got = [own[0][2] for own in white.advantages.tokens]
    np.testing.assert_allclose(got, [0.57735, 0.57735, -1.15470], atol=1e-5)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("baseline", ["none", "group"])
def test_kl_return_equals_a_slow_loop(seed, baseline):
    group = random_group(seed, features=("old_logp", "ref_logp"))
    scores, gamma, beta = random_scores(group, seed), 0.9, 0.3
    total = [scores.outcome[i] + scores.turns[i].sum() for i in range(len(group))]
    mean = sum(total) / len(total)
    adv = kl_return(kl_coefficient=beta, gamma=gamma, baseline=baseline)(group, scores)
    for i, one in enumerate(group):
        reward = []
        for k, turn in enumerate(one.turns):
            row = one.sequences[turn.sequence].features
            for t in range(turn.start, turn.stop):
                reward.append(-beta * (row["old_logp"][t] - row["ref_logp"][t]))
            if baseline == "none":
                reward[-1] += scores.turns[i][k] + (scores.outcome[i] if k == len(one.turns) - 1 else 0)
        added = total[i] - mean if baseline == "group" and len(group) > 1 else 0.0
        slow = [added + sum(gamma ** (s - t) * reward[s] for s in range(t, len(reward))) for t in range(len(reward))]
        np.testing.assert_allclose(gather(one, adv.tokens[i]), slow, atol=1e-9)


def test_group_baseline_gives_zero_without_differences():
    group = make_group(size=3)
    credit = kl_return(baseline="group")
    assert [own[0][3] for own in credit(group, make_scores([1, np.nan, 0])).tokens] == [0.5, 0, -0.5]
    eligible = make_scores([1, 0, 7], eligible=[True, True, False])
    credit = kl_return(baseline="group", stats_over="eligible")
    assert [own[0][3] for own in credit(group, eligible).tokens] == [0.5, -0.5, 0]


def test_missing_features_and_wrong_arguments_are_errors():
    with pytest.raises(InputError, match="'old_logp'"):
        kl_return(kl_coefficient=0.1)(make_group(size=1), make_scores([1]))
    for wrong in ({"gamma": 2}, {"baseline": "batch"}):
        with pytest.raises(InputError, match="kl_return"):
            kl_return(**wrong)


def test_the_expected_gradient_is_exact_up_to_its_length():
    world = StopOrGo()
    np.testing.assert_allclose(expected_gradient(world, kl_return(), 3), exact_gradient(world), atol=1e-12)
    np.testing.assert_allclose(
        expected_gradient(world, kl_return(baseline="group"), 3), exact_gradient(world) * 2 / 3, atol=1e-12
    )
