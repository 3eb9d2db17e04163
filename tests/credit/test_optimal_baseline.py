import math

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.credit.optimal_baseline import optimal_baseline
from handaxe.evaluation.gradient_bias import BiasCase
from handaxe.ops.ragged import gather
from handaxe.testing.make_records import make_group, make_scores, make_trajectory
from handaxe.testing.mdp import StopOrGo, exact_gradient, expected_gradient
from handaxe.testing.random_groups import random_group, random_scores

CONTRACT = [{}, {"tail": "last"}, {"tail": "last", "stats_over": "eligible"}, {"lone": "reward"}]
BIAS = [BiasCase("optimal_baseline()", optimal_baseline)]


def example():
    first = make_trajectory(layouts=["Utp tTt p"], logp=np.log([0.5, 0.8]), features={"collision": [0.5, 0.68]})
    second = make_trajectory(layouts=["Utp"], logp=math.log(0.25), features={"collision": 0.625})
    return make_group(trajectories=[first, second])


def test_optimal_baseline_matches_the_docstring_example():
    group = example()
    adv = optimal_baseline()(group, make_scores([1, 0]))
    np.testing.assert_allclose(gather(group[0], adv.tokens[0]), [0.69231, 1], atol=1e-5)
    np.testing.assert_allclose(gather(group[1], adv.tokens[1]), [-0.30769], atol=1e-5)


def test_tail_last_keeps_the_last_shared_baseline():
    group = example()
    adv = optimal_baseline(tail="last")(group, make_scores([1, 0]))
    np.testing.assert_allclose(gather(group[0], adv.tokens[0]), [0.69231, 0.69231], atol=1e-5)


@pytest.mark.parametrize("seed", range(8))
def test_optimal_baseline_equals_a_slow_loop(seed):
    group = random_group(seed, size=2 + seed % 4, features=("collision",))
    scores = random_scores(group, seed)
    p = [np.exp(gather(one, [s.logp for s in one.sequences])) for one in group]
    c = [gather(one, [s.features["collision"] for s in one.sequences]) for one in group]
    reward = []
    for i, one in enumerate(group):
        own = []
        for k, turn in enumerate(one.turns):
            own += [0.0] * (turn.stop - turn.start)
            own[-1] += scores.turns[i][k]
        own[-1] += scores.outcome[i]
        reward.append(own)
    adv = optimal_baseline()(group, scores)
    for i, one in enumerate(group):
        for t, got in enumerate(gather(one, adv.tokens[i])):
            longer = [j for j in range(len(group)) if len(reward[j]) > t]
            weight = {j: sum(1 - 2 * p[j][s] + c[j][s] for s in range(t + 1)) for j in longer}
            total = sum(weight.values())
            baseline = 0.0
            if len(longer) > 1 and total > 1e-12:
                baseline = sum(sum(reward[j][t:]) * weight[j] for j in longer) / total
            assert got == pytest.approx(sum(reward[i][t:]) - baseline, abs=1e-7)


def test_a_certain_policy_has_baseline_zero():
    sure = make_trajectory(layouts=["Utp"], logp=0.0, features={"collision": 1.0})
    adv = optimal_baseline()(make_group(trajectories=[sure, sure]), make_scores([1, 0]))
    assert [own[0][2] for own in adv.tokens] == [1, 0]


def test_lone_and_unscored_siblings_get_zero():
    group = make_group(trajectories=[example()[1]] * 3)
    assert [a[0][2] for a in optimal_baseline()(group, make_scores([0.1, 0.1 + 0.2 - 0.2, 0.1])).tokens] == [0, 0, 0]
    alone = make_group(trajectories=[example()[1]])
    assert optimal_baseline()(alone, make_scores([0.7])).tokens[0][0][2] == 0
    assert optimal_baseline(lone="reward")(alone, make_scores([0.7])).tokens[0][0][2] == 0.7
    adv = optimal_baseline(stats_over="eligible")(group, make_scores([1, 0, 9], eligible=[True, True, False]))
    assert [a[0][2] for a in adv.tokens] == [0.5, -0.5, 0]
    with pytest.raises(InputError, match="'collision'"):
        optimal_baseline()(make_group(size=2), make_scores([1, 0]))


def test_the_expected_gradient_is_close_to_exact():
    """What it costs in expectation falls with the size of the group."""
    world = StopOrGo()
    exact = exact_gradient(world)
    off = [np.abs(expected_gradient(world, optimal_baseline(), size) - exact).max() for size in (2, 4)]
    assert 1e-3 < off[1] < off[0]
