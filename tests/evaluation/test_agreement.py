"""Summaries and agreement against the docstrings' examples and loops by hand."""

import itertools
import math

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Scores
from handaxe.evaluation.agreement import agreement, summarize_channels, values_by_channel
from handaxe.testing.make_records import make_group, make_trajectory

pytest.importorskip("sklearn")


def group_of(*tokens):
    return make_group(trajectories=[make_trajectory(layouts=["U" + "p" * n]) for n in tokens])


def test_summary_of_a_channel_by_hand():
    (one,) = summarize_channels([(group_of(1, 2, 3, 4), Scores(np.array([0.0, 0, 1, 1])))])
    assert (one.name, one.rollouts, one.mean, one.std) == ("reward", 4, 0.5, 0.5)
    assert one.quantiles == (0.0, 0.0, 0.5, 1.0, 1.0) and one.uniform == 0.0
    assert one.correlations["tokens"] == pytest.approx(0.8944, abs=1e-4)
    assert math.isnan(one.correlations["calls"]) and math.isnan(one.correlations["turns"])  # all have none, and one


def test_uniform_groups_and_unscored_rollouts():
    scored = [
        (group_of(1, 2), Scores(np.array([1.0, 1.0]), channels={"c": np.array([0.0, 1.0])})),
        (group_of(1, 2, 3), Scores(np.array([0.0, np.nan, 1.0]))),
        (group_of(5), Scores(np.array([7.0]))),
    ]
    reward, channel = summarize_channels(scored)
    assert reward.rollouts == 5 and reward.uniform == 0.5 and reward.quantiles[-1] == 7.0
    assert (channel.name, channel.rollouts) == ("c", 2)
    assert [len(own) for own in values_by_channel(scored)["c"]] == [2, 3, 1]
    (none,) = summarize_channels([(group_of(1), Scores(np.array([np.nan])))])
    assert (
        none.rollouts == 0
        and math.isnan(none.mean)
        and all(map(math.isnan, (*none.quantiles, *none.correlations.values())))
    )


def test_agreement_by_hand():
    one = agreement([1, 1, 0, 0], [1, 0, 0, 0])
    assert (one.rollouts, one.equal, one.kappa) == (4, 0.75, 0.5)
    assert one.kendall == pytest.approx(0.5774, abs=1e-4) and one.spearman == pytest.approx(0.5774, abs=1e-4)


def test_kendall_equals_a_loop_over_pairs():
    rng = np.random.default_rng(0)
    a, b = rng.permutation(7).astype(float), rng.permutation(7).astype(float)
    pairs = [np.sign(a[i] - a[j]) * np.sign(b[i] - b[j]) for i, j in itertools.combinations(range(7), 2)]
    found = agreement([*a, np.nan], [*b, 3.0])
    assert found.kendall == pytest.approx(np.mean(pairs)) and found.rollouts == 7 and math.isnan(found.kappa)


def test_a_constant_side_has_no_correlation_and_unequal_lengths_are_an_error():
    flat = agreement([1.0, 1.0], [0.0, 1.0])
    assert math.isnan(flat.spearman) and flat.equal == 0.5 and flat.kappa == 0.0
    with pytest.raises(InputError, match="same rollouts"):
        agreement([1.0], [1.0, 2.0])
    assert agreement([math.nan], [1.0]).rollouts == 0 and math.isnan(agreement([math.nan], [1.0]).equal)
