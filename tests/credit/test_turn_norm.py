import math
import statistics

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Scores
from handaxe.credit.group_norm import group_norm
from handaxe.credit.total import total
from handaxe.credit.turn_norm import turn_norm
from handaxe.evaluation.gradient_bias import BiasCase
from handaxe.testing.make_records import make_group, make_scores
from handaxe.testing.mdp import StopOrGo, exact_gradient, expected_gradient
from handaxe.testing.random_groups import random_group, random_scores

CONTRACT = [
    {},
    {"norm": "index", "gamma": 0.9, "order": "sum_first", "lone": "reward"},
    {"norm": None, "gamma": 0.5},
    {"norm": "index", "std": "population", "stats_over": "eligible"},
    {"std": "population", "weigh": "trajectory"},
]
BIAS = [
    BiasCase("turn_norm(norm=None)", lambda: turn_norm(norm=None), by_turn=True),
    BiasCase("turn_norm(std=None)", lambda: turn_norm(std=None), by_turn=True),
    BiasCase("turn_norm()", turn_norm, by_turn=True),
    BiasCase('turn_norm(weigh="trajectory", std=None)', lambda: turn_norm(weigh="trajectory", std=None), by_turn=True),
    BiasCase('turn_norm(norm="index", std=None)', lambda: turn_norm(norm="index", std=None), by_turn=True),
    BiasCase('turn_norm(norm="index")', lambda: turn_norm(norm="index"), by_turn=True),
    BiasCase(
        'turn_norm(norm="index", order="sum_first", std=None)',
        lambda: turn_norm(norm="index", order="sum_first", std=None),
        by_turn=True,
    ),
    BiasCase(
        'turn_norm(norm="index", order="sum_first")',
        lambda: turn_norm(norm="index", order="sum_first"),
        by_turn=True,
    ),
]
OVER_TURNS = True


def turned(credit, turns, outcome=None, **more):
    """The advantage of each turn, by sibling; every turn is two tokens."""
    layouts = ["Ut" + "tTt".join(["pp"] * len(own)) for own in turns]
    group = make_group(layouts=layouts)
    said = credit(group, make_scores(outcome or [0.0] * len(turns), turns=turns, **more))
    out = []
    for one, (row,) in zip(group, said.tokens):
        own = row[one.sequences[0].mask].reshape(-1, 2)
        assert np.array_equal(own[:, 0], own[:, 1]) and not row[~one.sequences[0].mask].any()
        out.append(own[:, 0].tolist())
    return out


def test_joint_matches_the_docstring_example():
    first, second = turned(turn_norm(), [[0.2, 0.1, 1], [0.05, -0.05, 0]])
    np.testing.assert_allclose(first, [1.6528, 1.6952, 1.9918], atol=5e-5)
    np.testing.assert_allclose(second, [-1.6528, -1.2290, -0.5509], atol=5e-5)


def test_index_matches_the_docstring_example():
    credit = turn_norm(norm="index", gamma=0.9, order="sum_first", lone="reward")
    first, second = turned(credit, [[0.75, 1, 0.5], [0, 0, 1]])
    np.testing.assert_allclose(first, [0.70711, 0.70711, -0.70711], atol=1e-5)
    np.testing.assert_allclose(second, [-0.70711, -0.70711, 0.70711], atol=1e-5)
    assert turned(turn_norm(norm=None, gamma=0.9), [[0.75, 1, 0.5]]) == [pytest.approx([2.055, 1.45, 0.5])]


def test_by_trajectory_matches_the_docstring_example():
    first, second = turned(turn_norm(std="population", weigh="trajectory"), [[0.2, 0.2, -0.2], [-0.2, 0.2]])
    np.testing.assert_allclose(first, [0.5071, -0.3381, -1.1832], atol=5e-5)
    np.testing.assert_allclose(second, [-0.3381, 0.8452], atol=5e-5)


def test_by_trajectory_with_a_separate_outcome_equals_agent_evolver():
    """The example of its dossier: process scores of a tenth, outcomes apart."""
    group = make_group(layouts=["Utp tTt p tTt p", "Utp tTt p"])
    labels = (np.array([0.2, 0.2, -0.2]), np.array([-0.2, 0.2]))
    scores = Scores(np.array([1.0, 0.0]), turn_channels={"labels": labels})
    process = turn_norm(channel="labels", std="population", weigh="trajectory")
    said = total({"outcome": (1.0, group_norm(std="population")), "process": (0.1, process)})(group, scores)
    for one, (row,), wanted in zip(group, said.tokens, [[1.0507, 0.9662, 0.8817], [-1.0338, -0.9155]], strict=True):
        np.testing.assert_allclose([row[turn.start] for turn in one.turns], wanted, atol=5e-5)


def test_lone_turns_get_zero_and_lone_siblings_compare_their_turns():
    turns = [[1, 5], [3]]
    assert turned(turn_norm(norm="index", std=None, order="sum_first"), turns) == [[1.5, 0], [-1.5]]
    assert turned(turn_norm(norm="index", std=None, order="sum_first", lone="reward"), turns) == [[1.5, 5], [-1.5]]
    assert turned(turn_norm(norm="index"), [[1, 2]]) == [[0, 0]]
    assert turned(turn_norm(), [[7]]) == [[0]]
    assert turned(turn_norm(lone="reward"), [[7]]) == [[7]]
    assert turned(turn_norm(std=None), [[1, 2]]) == [[0, 0.5]]


def test_equal_turns_give_exactly_zero():
    assert turned(turn_norm(eps=0.0), [[0.1 + 0.2 - 0.2, 0.1], [0.3 - 0.2]]) == [[0, 0], [0]]


def test_the_outcome_is_added_to_the_last_turn_without_a_channel():
    assert turned(turn_norm(norm=None), [[1, 2], [3]], [10, 20]) == [[13, 12], [23]]
    group = make_group(layouts=["Utp tTt p", "Utp"])
    steps = (np.array([1.0, 2.0]), np.array([3.0]))
    scores = Scores(np.array([10.0, np.nan]), turn_channels={"steps": steps})
    said = turn_norm(norm=None, channel="steps")(group, scores)
    assert said.tokens[0][0].tolist() == [0, 0, 3, 0, 0, 0, 2] and not said.tokens[1][0].any()
    assert steps[1][0] == 3.0


def test_unscored_siblings_count_nowhere():
    turns = [[1.0], [np.nan], [3.0]]
    for norm in ("joint", "index"):
        assert turned(turn_norm(norm=norm, std=None), turns, [0, np.nan, 0]) == [[-1], [0], [1]]
    with_choice = turned(turn_norm(std=None, stats_over="eligible"), [[1], [9], [3]], eligible=[True, False, True])
    assert with_choice == [[-1], [0], [1]]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("norm", ["joint", "index", None])
@pytest.mark.parametrize("order", ["normalise_first", "sum_first"])
@pytest.mark.parametrize("weigh", ["turn", "trajectory"])
def test_turn_norm_equals_a_slow_loop(seed, norm, order, weigh):
    group = random_group(seed, size=2 + seed % 4)
    scores = random_scores(group, seed)
    gamma, std = 0.8, "population" if weigh == "trajectory" else "sample"
    own = {(i, k): float(scores.turns[i][k]) for i, one in enumerate(group) for k in range(len(one.turns))}
    for i, one in enumerate(group):
        own[i, len(one.turns) - 1] += float(scores.outcome[i])

    def summed(values):
        return {(i, k): sum(gamma ** (n - k) * values[i, n] for j, n in values if j == i and n >= k) for i, k in values}

    def normalised(values):
        out = {}
        for i, k in values:
            others = [v for (_, n), v in values.items() if norm == "joint" or n == k]
            out[i, k] = 0.0
            if len(others) < 2:
                continue
            mean = statistics.mean(others)
            scale = statistics.pstdev(others) if std == "population" else statistics.stdev(others)
            if weigh == "trajectory" and norm == "joint":
                apart = [[v for (j, _), v in values.items() if j == i] for i in range(len(group))]
                mean = statistics.mean(statistics.mean(mine) for mine in apart)
                scale = math.sqrt(statistics.mean(statistics.mean((v - mean) ** 2 for v in mine) for mine in apart))
            out[i, k] = (values[i, k] - mean) / (scale + 1e-6)
        return out if norm else values

    wanted = summed(normalised(own)) if order == "normalise_first" else normalised(summed(own))
    said = turn_norm(norm=norm, order=order, gamma=gamma, std=std, weigh=weigh)(group, scores)
    for i, one in enumerate(group):
        for k, turn in enumerate(one.turns):
            np.testing.assert_allclose(said.tokens[i][turn.sequence][turn.start : turn.stop], wanted[i, k], atol=1e-9)


def test_wrong_arguments_are_errors():
    for wrong in ({"gamma": 1.5}, {"norm": "turn"}, {"order": "both"}, {"weigh": "token"}):
        with pytest.raises(InputError, match="turn_norm takes"):
            turn_norm(**wrong)
    group = make_group(size=1)
    with pytest.raises(InputError, match="no per-turn channel 'steps'"):
        turn_norm(channel="steps")(group, make_scores([1]))
    for turns in ([np.zeros(1)], [np.array([1.0, np.nan])]):
        with pytest.raises(InputError, match="not finite|entries a sibling"):
            turn_norm(channel="steps")(group, Scores(np.ones(1), turn_channels={"steps": tuple(turns)}))


def test_without_norm_the_expected_gradient_is_exact():
    world = StopOrGo()
    for order in ("normalise_first", "sum_first"):
        got = expected_gradient(world, turn_norm(norm=None, order=order), 2)
        np.testing.assert_allclose(got, exact_gradient(world), atol=1e-12)


def test_index_after_the_sum_scales_the_gradient_of_each_turn():
    world, size = StopOrGo(), 3
    got = expected_gradient(world, turn_norm(norm="index", order="sum_first", std=None), size)
    reach = np.cumprod([1.0, *1 / (1 + np.exp(-np.array(world.logits)))])[:-1]
    for k, p in enumerate(reach):
        others = [(1 - p) ** 2, 2 * p * (1 - p), p**2]
        short = sum(chance * n / (n + 1) for n, chance in enumerate(others))
        assert got[k] == pytest.approx(short * exact_gradient(world)[k], abs=1e-12)


@pytest.mark.parametrize("norm", ["joint", "index"])
def test_normalise_first_is_a_price_on_further_turns(norm):
    """Every turn earns 1 and nothing else does, so going on is worth something; yet no turn differs from another."""
    world = StopOrGo(stop=(1.0, 1.0, 1.0), go=(1.0, 1.0, 1.0), outcome=(0.0, 0.0, 0.0, 0.0))
    assert exact_gradient(world)[0] > 0.1
    np.testing.assert_allclose(expected_gradient(world, turn_norm(norm=norm, std=None), 3), 0, atol=1e-12)
    assert expected_gradient(world, turn_norm(norm=norm, std=None, order="sum_first"), 3)[0] > 0.05
