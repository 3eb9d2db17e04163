from math import inf, nan

import numpy as np
import pytest

from handaxe.evaluation.claim_figures import pair_values
from handaxe.evaluation.paired_estimates import paired_estimates
from handaxe.ops.stats import improvement_interval, interquartile_interval


def test_estimates_equal_the_docstring_example():
    paired = pair_values([1, 3], [1, 2])
    assert paired_estimates(paired).improvement == 0.625
    assert paired_estimates(paired, direction="down").improvement == 0.375
    assert paired_estimates(paired).interquartile == 0.5


def test_the_direction_turns_the_probability_and_leaves_the_interquartile_mean():
    rng = np.random.default_rng(0)
    ours, theirs = rng.integers(0, 4, 8), rng.integers(0, 4, 8)
    up, down = (paired_estimates(pair_values(ours, theirs), direction=one) for one in ("up", "down"))
    assert up.improvement + down.improvement == pytest.approx(1.0)
    assert up[2:] == down[2:]
    assert up.improvement_interval == improvement_interval(ours, theirs)
    assert down.improvement_interval == improvement_interval(theirs, ours)
    assert up.interquartile_interval == interquartile_interval(ours - theirs)


def test_one_outlier_moves_the_mean_and_not_the_other_estimates():
    calm, wild = ([0.1] * 7 + [last] for last in (0.1, 90.0))
    before, after = (paired_estimates(pair_values(ours, [0.0] * 8)) for ours in (calm, wild))
    assert before[:1] == after[:1] and before.interquartile == pytest.approx(after.interquartile)
    assert pair_values(wild, [0.0] * 8).difference > 11


@pytest.mark.parametrize("ours", [[1.0], [1.0, nan], [1.0, inf]])
def test_too_few_or_undefined_figures_have_no_estimates(ours):
    assert paired_estimates(pair_values(ours, [0.0] * len(ours))) is None


def test_json_has_values_and_intervals():
    body = paired_estimates(pair_values([1, 2, 3], [0, 0, 0])).to_json()
    assert body["improvement"] == 1.0 and body["improvement_interval"] == [1.0, 1.0]
    assert body["interquartile"] == 2.0 and len(body["interquartile_interval"]) == 2
