import math

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.credit.group_norm import group_norm
from handaxe.evaluation.gradient_bias import BiasCase
from handaxe.testing.credit import check_credit
from handaxe.testing.make_records import make_group, make_scores
from handaxe.testing.mdp import StopOrGo, exact_gradient, expected_gradient
from handaxe.testing.random_groups import random_group, random_scores

CONTRACT = [{}, {"std": "population", "stats_over": "eligible"}, {"std": None, "eps": 0.0}]
BIAS = [
    BiasCase("group_norm(std=None)", lambda: group_norm(std=None)),
    BiasCase("group_norm()", group_norm),
    BiasCase('group_norm(std=None, unit="turn")', lambda: group_norm(std=None, unit="turn")),
    BiasCase('group_norm(unit="turn")', lambda: group_norm(unit="turn")),
    BiasCase("group_norm(std=None)", lambda: group_norm(std=None), forks=True),
    BiasCase("group_norm()", group_norm, forks=True),
]


def values(credit, outcome, **more):
    """The one value on each sibling's sampled tokens; two-turn siblings."""
    group = make_group(size=len(outcome))
    out = []
    for one, (row,) in zip(group, credit(group, make_scores(outcome, **more)).tokens, strict=True):
        mask = one.sequences[0].mask
        assert len(set(row[mask])) == 1 and not row[~mask].any()
        out.append(row[mask][0])
    return out


A, B = 0.8660254, 0.5773503


@pytest.mark.parametrize(
    "std, outcome, wanted",
    [
        ("sample", [1, 0, 0, 1], [A, -A, -A, A]),
        ("population", [1, 0, 0, 1], [1, -1, -1, 1]),
        ("sample", [1, 0, 0, 0], [1.5, -0.5, -0.5, -0.5]),
        ("population", [1, 0, 0, 0], [3 * B, -B, -B, -B]),
        (None, [1, 0, 0, 0], [0.75, -0.25, -0.25, -0.25]),
    ],
)
def test_group_norm_matches_the_docstring_example(std, outcome, wanted):
    np.testing.assert_allclose(values(group_norm(std=std), outcome), wanted, atol=5e-6)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("std", ["sample", "population", None])
def test_group_norm_equals_a_slow_loop(seed, std):
    group = random_group(seed, size=2 + seed % 4)
    scores = random_scores(group, seed)
    reward = [float(scores.outcome[i]) + sum(scores.turns[i].tolist()) for i in range(len(group))]
    mean = sum(reward) / len(reward)
    squares = sum((r - mean) ** 2 for r in reward)
    scale = 1.0
    if std:
        scale = math.sqrt(squares / (len(reward) - (std == "sample"))) + 1e-6
    adv = group_norm(std=std)(group, scores)
    for i, one in enumerate(group):
        for s, sequence in enumerate(one.sequences):
            for t in range(len(sequence)):
                wanted = (reward[i] - mean) / scale if sequence.author[t] == 3 else 0.0
                assert adv.tokens[i][s][t] == pytest.approx(wanted, abs=1e-9)


def test_equal_rewards_and_lone_siblings_get_zero():
    assert values(group_norm(), [0.1 + 0.2 - 0.2, 0.1, 0.3 - 0.2]) == [0, 0, 0]
    assert values(group_norm(eps=0.0), [2, 2]) == [0, 0]
    assert values(group_norm(), [0.7]) == [0]
    assert values(group_norm(lone="reward"), [0.7]) == [0.7]


def test_statistics_over_eligible_siblings():
    more = {"eligible": [True, True, False]}
    assert values(group_norm(std=None, stats_over="eligible"), [1, 0, 5], **more) == [0.5, -0.5, 0]
    assert values(group_norm(std=None), [1, 0, 5], **more) == [-1, -2, 3]


def test_unscored_siblings_count_nowhere():
    assert values(group_norm(std=None), [1, np.nan, 0]) == [0.5, 0, -0.5]
    assert values(group_norm(lone="reward"), [np.nan, 0.7]) == [0, 0.7]
    assert values(group_norm(), [np.nan, np.nan]) == [0, 0]


def test_a_channel_replaces_the_total_reward():
    more = {"channels": {"speed": [3, 1]}}
    assert values(group_norm(std=None, channel="speed"), [0, 0], **more) == [1, -1]
    with pytest.raises(InputError, match="speed"):
        values(group_norm(channel="style"), [0, 0], **more)


def test_the_number_of_sequences_has_no_effect():
    """Three sequences instead of one: the same advantages for everybody, and each of the three gets it."""
    plain = group_norm()(make_group(layouts=["Utp", "Utp", "Utp"]), make_scores([1, 0, 0]))
    rows = group_norm()(make_group(layouts=[["Utp"] * 3, "Utp", "Utp"]), make_scores([1, 0, 0]))
    assert [a[-1] for a in rows.tokens[0]] == [plain.tokens[0][0][-1]] * 3
    assert rows.tokens[1][0][-1] == plain.tokens[1][0][-1]


@pytest.mark.parametrize("size", [2, 3, 4])
def test_without_std_the_expected_gradient_is_scaled_by_group_size(size):
    world = StopOrGo()
    got = expected_gradient(world, group_norm(std=None), size)
    np.testing.assert_allclose(got, exact_gradient(world) * (size - 1) / size, atol=1e-12)


def test_division_by_std_biases_the_gradient():
    world = StopOrGo()
    got, exact = expected_gradient(world, group_norm(), 3), exact_gradient(world)
    assert got @ exact < 0.9999 * np.linalg.norm(got) * np.linalg.norm(exact)


@pytest.mark.parametrize(
    ("unit", "wanted"), [("turn", [0.5, -1.5]), ("rollout", [0.7071068, -0.7071068])], ids=["turn", "rollout"]
)
def test_over_turns_a_long_rollout_has_more_weight(unit, wanted):
    group = make_group(layouts=["Utp tTt p tTt p", "Utp"])
    (long,), (short,) = group_norm(unit=unit)(group, make_scores([1, 0])).tokens
    np.testing.assert_allclose([*long[group[0].sequences[0].mask], short[-1]], [*[wanted[0]] * 3, wanted[1]], atol=5e-6)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("std", ["sample", "population", None])
def test_over_turns_group_norm_equals_a_slow_loop(seed, std):
    group = random_group(seed, size=3)
    scores = random_scores(group, seed)
    each = [float(scores.outcome[i]) + sum(scores.turns[i].tolist()) for i in range(3)]
    turns = [each[i] for i, one in enumerate(group) for _ in one.turns]
    mean = sum(turns) / len(turns)
    squares = sum((r - mean) ** 2 for r in turns)
    scale = math.sqrt(squares / (len(turns) - (std == "sample"))) + 1e-6 if std else 1.0
    for i, own in enumerate(group_norm(std=std, unit="turn")(group, scores).tokens):
        for row, sequence in zip(own, group[i].sequences, strict=True):
            np.testing.assert_allclose(row[sequence.mask], (each[i] - mean) / scale, atol=1e-9)


def test_over_turns_rollouts_without_turns_get_zero():
    credit = group_norm(unit="turn")
    check_credit(credit, over_turns=True)
    silent = make_group(layouts=["Ut", "Utp", "Utp tTt p"])
    tokens = credit(silent, make_scores([5, 1, 0])).tokens  # who took no turn counts nowhere
    assert [row[-1] for (row,) in tokens] == pytest.approx([0, 1.1547, -0.57735], abs=1e-4)
    lone = make_group(layouts=["Utp tTt p"])
    assert not credit(lone, make_scores([0.7])).tokens[0][0].any()
    assert group_norm(unit="turn", lone="reward")(lone, make_scores([0.7])).tokens[0][0][-1] == 0.7
    with pytest.raises(InputError, match="'rollout' or 'turn'"):
        group_norm(unit="token")
