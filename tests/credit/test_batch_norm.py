import numpy as np
import pytest

from handaxe.credit.batch_norm import batch_norm
from handaxe.testing.records import make_group, make_rated, make_scores

CONTRACT = [{}, {"mean": "batch", "std": "population"}]


def values(rated):
    return [[row[row != 0][0] if row.any() else 0.0 for row, *_ in one.advantages.tokens] for one in rated]


def batch(*outcomes):
    return [make_rated(group=make_group(size=len(o)), outcome=o) for o in outcomes]


@pytest.mark.parametrize("mean, wanted", [("group", [[1, -1], [0, 0]]), ("batch", [[0.5, -1.5], [0.5, 0.5]])])
def test_example(mean, wanted):
    got = values(batch_norm(mean=mean)(batch([1, 0], [1, 1])))
    np.testing.assert_allclose(got, wanted, atol=1e-5)


@pytest.mark.parametrize("std", ["sample", "population"])
def test_against_a_slow_loop(std):
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


def test_edges():
    assert values(batch_norm()(batch([0.1, 0.3 - 0.2], [0.1]))) == [[0, 0], [0]]
    assert values(batch_norm()(batch([0.1, 0.3 - 0.2], [5.0])))[0] == [0, 0]
    scores = make_scores([1, np.nan, 0], turns=[[0, 0], [np.nan, np.nan], [0.5, 0.5]])
    one = make_rated(group=make_group(size=3), scores=make_scores([1, np.nan, 0]), advantage=[0, 0, 0])
    np.testing.assert_allclose(values(batch_norm()([one])), [[0.70711, 0, -0.70711]], atol=1e-5)
    one = make_rated(group=make_group(size=3), scores=scores, advantage=[0, 0, 0])
    assert values(batch_norm()([one])) == [[0, 0, 0]]
