import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.credit.bi_level_gae import bi_level_gae
from handaxe.credit.gae import gae
from handaxe.ops.ragged import gather
from handaxe.testing.mdp import StopOrGo, expected, gradient
from handaxe.testing.ragged import random_group, random_scores
from handaxe.testing.records import make_group, make_scores, make_trajectory

CONTRACT = [{}, {"gamma": 0.9, "lam": 0.8}]


def test_example():
    one = make_trajectory(layouts=["Utpp tTt p"], features={"value": [0.2, 0.5, 0.8]})
    group = make_group(trajectories=[one])
    said = bi_level_gae(turn_gamma=1, turn_lam=1)(group, make_scores([1]))
    np.testing.assert_allclose(gather(one, said.tokens[0]), [0.8, 0.5, 0.2])
    np.testing.assert_allclose(gather(one, said.returns[0]), [1.0, 1.0, 1.0])


@pytest.mark.parametrize("seed", range(8))
def test_against_a_slow_loop(seed):
    """The released form: the turn's return A_k + V_k is the reward at its last token, where nothing is bootstrapped."""
    group = random_group(seed, features=("value",))
    scores, high, low = random_scores(group, seed), (0.9, 0.8), (0.95, 0.7)
    said = bi_level_gae(turn_gamma=high[0], turn_lam=high[1], gamma=low[0], lam=low[1])(group, scores)
    for i, one in enumerate(group):
        following, turn_adv = 0.0, 0.0
        for k in range(len(one.turns) - 1, -1, -1):
            turn = one.turns[k]
            value = one.sequences[turn.sequence].features["value"][turn.start : turn.stop]
            reward = scores.turns[i][k] + (scores.outcome[i] if k == len(one.turns) - 1 else 0)
            turn_adv = reward + high[0] * following - value[-1] + high[0] * high[1] * turn_adv
            following = value[-1]
            after, carried = 0.0, 0.0
            for t in range(len(value) - 1, -1, -1):
                paid = turn_adv + value[-1] if t == len(value) - 1 else 0.0
                carried = paid + low[0] * after - value[t] + low[0] * low[1] * carried
                after = value[t]
                assert said.tokens[i][turn.sequence][turn.start + t] == pytest.approx(carried, abs=1e-9)


def test_with_one_token_a_turn_it_is_plain_gae():
    world = StopOrGo()
    group, scores = world.group((0, 1, 2, 3))
    left = bi_level_gae(turn_gamma=0.9, turn_lam=0.8)(group, scores)
    right = gae(gamma=0.9, lam=0.8)(group, scores)
    for a, b in zip(left.tokens, right.tokens, strict=True):
        np.testing.assert_allclose(a[0], b[0], atol=1e-12)


def test_unscored_and_wrong_arguments():
    group = make_group(trajectories=[make_trajectory(layouts=["Utp"], features={"value": 0.4})] * 2)
    said = bi_level_gae()(group, make_scores([np.nan, 1]))
    assert not said.tokens[0][0].any() and not said.returns[0][0].any()
    for name in ("turn_gamma", "turn_lam", "gamma", "lam"):
        with pytest.raises(InputError, match="bi_level_gae"):
            bi_level_gae(**{name: 1.5})


def test_its_gradient_is_exact_on_average_without_discounts():
    world = StopOrGo()
    got = expected(world, bi_level_gae(turn_gamma=1, turn_lam=1), 2)
    np.testing.assert_allclose(got, gradient(world), atol=1e-12)
