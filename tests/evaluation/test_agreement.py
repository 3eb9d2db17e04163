"""Spread and agreement against the examples of the docstrings and loops by hand."""

import itertools
import math

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Scores
from handaxe.evaluation.agreement import agreement, channels_of, spread
from handaxe.testing.records import make_group, make_trajectory

pytest.importorskip("sklearn")


def group_of(*tokens):
    return make_group(trajectories=[make_trajectory(layouts=["U" + "p" * n]) for n in tokens])


def test_spread_by_hand():
    (one,) = spread([(group_of(1, 2, 3, 4), Scores(np.array([0.0, 0, 1, 1])))])
    assert (one.name, one.attempts, one.mean, one.deviation) == ("reward", 4, 0.5, 0.5)
    assert one.quantiles == (0.0, 0.0, 0.5, 1.0, 1.0) and one.alike == 0.0
    assert one.along["tokens"] == pytest.approx(0.8944, abs=1e-4)
    assert math.isnan(one.along["calls"]) and math.isnan(one.along["turns"])  # all have none, and one


def test_groups_that_are_alike_and_attempts_without_a_score():
    scored = [
        (group_of(1, 2), Scores(np.array([1.0, 1.0]), channels={"c": np.array([0.0, 1.0])})),
        (group_of(1, 2, 3), Scores(np.array([0.0, np.nan, 1.0]))),
        (group_of(5), Scores(np.array([7.0]))),
    ]
    reward, channel = spread(scored)
    assert reward.attempts == 5 and reward.alike == 0.5 and reward.quantiles[-1] == 7.0
    assert (channel.name, channel.attempts) == ("c", 2)
    assert [len(own) for own in channels_of(scored)["c"]] == [2, 3, 1]
    (none,) = spread([(group_of(1), Scores(np.array([np.nan])))])
    assert (
        none.attempts == 0 and math.isnan(none.mean) and all(map(math.isnan, (*none.quantiles, *none.along.values())))
    )


def test_agreement_by_hand():
    one = agreement([1, 1, 0, 0], [1, 0, 0, 0])
    assert (one.attempts, one.equal, one.kappa) == (4, 0.75, 0.5)
    assert one.kendall == pytest.approx(0.5774, abs=1e-4) and one.spearman == pytest.approx(0.5774, abs=1e-4)


def test_kendall_is_that_of_all_pairs():
    rng = np.random.default_rng(0)
    a, b = rng.permutation(7).astype(float), rng.permutation(7).astype(float)
    pairs = [np.sign(a[i] - a[j]) * np.sign(b[i] - b[j]) for i, j in itertools.combinations(range(7), 2)]
    found = agreement([*a, np.nan], [*b, 3.0])
    assert found.kendall == pytest.approx(np.mean(pairs)) and found.attempts == 7 and math.isnan(found.kappa)


def test_what_never_varies_has_no_rank_and_what_does_not_fit_is_refused():
    flat = agreement([1.0, 1.0], [0.0, 1.0])
    assert math.isnan(flat.spearman) and flat.equal == 0.5 and flat.kappa == 0.0
    with pytest.raises(InputError, match="same attempts"):
        agreement([1.0], [1.0, 2.0])
    assert agreement([math.nan], [1.0]).attempts == 0 and math.isnan(agreement([math.nan], [1.0]).equal)
