from functools import partial

import numpy as np
import pytest

from handaxe.advantages.batch_norm import batch_norm
from handaxe.core.errors import InputError
from handaxe.credit.group_norm import group_norm
from handaxe.evaluation.gradient_bias import BiasCase
from handaxe.testing.make_records import make_group, make_rated, make_scores

CONTRACT = [{}, {"mean": "batch", "std": "population"}, {"of": "centred"}, {"of": "standardised"}]
BIAS = [
    BiasCase(f"batch_norm({text})", lambda: group_norm(std=None), partial(batch_norm, **options), groups=2)
    for text, options in {
        "": {},
        'mean="batch"': {"mean": "batch"},
        'of="centred"': {"of": "centred"},
        'of="standardised"': {"of": "standardised"},
    }.items()
]


def values(rated):
    return [[row[row != 0][0] if row.any() else 0.0 for row, *_ in one.advantages.tokens] for one in rated]


def batch(*outcomes):
    return [make_rated(group=make_group(size=len(o)), outcome=o) for o in outcomes]


@pytest.mark.parametrize("mean, wanted", [("group", [[1, -1], [0, 0]]), ("batch", [[0.5, -1.5], [0.5, 0.5]])])
def test_batch_norm_matches_the_docstring_example(mean, wanted):
    got = values(batch_norm(mean=mean)(batch([1, 0], [1, 1])))
    np.testing.assert_allclose(got, wanted, atol=1e-5)


@pytest.mark.parametrize("std", ["sample", "population"])
def test_batch_norm_equals_a_slow_loop(std):
    outcomes = [[1.0, 0.5, 0.0], [0.25], [2.0, 2.5]]
    every = [x for own in outcomes for x in own]
    mean = sum(every) / 6
    scale = (sum((x - mean) ** 2 for x in every) / (6 - (std == "sample"))) ** 0.5
    slow = [[(x - sum(own) / len(own)) / (scale + 0.1) for x in own] for own in outcomes]
    for got, wanted in zip(values(batch_norm(std=std, eps=0.1)(batch(*outcomes))), slow, strict=True):
        np.testing.assert_allclose(got, wanted, atol=1e-12)


def test_statistics_are_over_trajectories_not_rows():
    group = make_group(layouts=[["Utppp"] * 3, "Utp"])
    (one,) = batch_norm(std="population", eps=0.0)([make_rated(group=group, outcome=[1, 0])])
    assert [row[-1] for row in one.advantages.tokens[0]] == [1, 1, 1]
    assert one.advantages.tokens[1][0][-1] == -1


def test_equal_and_unscored_rewards_get_zero():
    assert values(batch_norm()(batch([0.1, 0.3 - 0.2], [0.1]))) == [[0, 0], [0]]
    assert values(batch_norm()(batch([0.1, 0.3 - 0.2], [5.0])))[0] == [0, 0]
    scores = make_scores([1, np.nan, 0], turns=[[0, 0], [np.nan, np.nan], [0.5, 0.5]])
    one = make_rated(group=make_group(size=3), scores=make_scores([1, np.nan, 0]), advantage=[0, 0, 0])
    np.testing.assert_allclose(values(batch_norm()([one])), [[0.70711, 0, -0.70711]], atol=1e-5)
    one = make_rated(group=make_group(size=3), scores=scores, advantage=[0, 0, 0])
    assert values(batch_norm()([one])) == [[0, 0, 0]]


MIXED = [[1, 0, 0, 0], [1, 1, 1, 0]]


@pytest.mark.parametrize(
    ("of", "rare", "common"),
    [("reward", 1.4031, 0.4677), ("centred", 1.6202, 0.5401), ("standardised", 1.7321, 0.5774)],
)
def test_of_selects_the_values_of_the_scale(of, rare, common):
    got = values(batch_norm(of=of)(batch(*MIXED)))
    np.testing.assert_allclose(got, [[rare, *[-common] * 3], [*[common] * 3, -rare]], atol=5e-5)


def test_groups_of_equal_rewards_raise_the_advantages_of_other_groups():
    got = values(batch_norm(of="standardised")(batch(*MIXED, [0, 0, 0, 0])))
    assert got[0][0] == pytest.approx(2.1213, abs=5e-5) and got[2] == [0, 0, 0, 0]


@pytest.mark.parametrize("of", ["centred", "standardised"])
def test_scale_of_centred_rewards_equals_a_slow_loop(of):
    outcomes = [[1.0, 0.5, 0.0], [0.25], [2.0, 2.5], [0.7, 0.7]]
    levels = []
    for own in outcomes:
        mean = sum(own) / len(own)
        squares = sum((x - mean) ** 2 for x in own)
        scale = (squares / max(1, len(own) - 1)) ** 0.5 + 0.1 if of == "standardised" else 1.0
        levels.append([(x - mean) / scale for x in own])
    every = [x for own in levels for x in own]
    mean = sum(every) / len(every)
    spread = sum((x - mean) ** 2 for x in every)
    scale = (spread / 8) ** 0.5 + 1e-9 if of == "standardised" else (spread / 7) ** 0.5 + 0.1
    for got, own in zip(values(batch_norm(of=of, eps=0.1)(batch(*outcomes))), levels, strict=True):
        np.testing.assert_allclose(got, [(x - mean) / scale for x in own], atol=1e-12)


def test_unknown_and_incompatible_options_are_errors():
    with pytest.raises(InputError, match="not 'return'"):
        batch_norm(of="return")
    with pytest.raises(InputError, match="leave mean='batch'"):
        batch_norm(of="centred", mean="batch")
