import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.papers.hai_chart.chart_data import ChartData, chart_data
from handaxe.papers.hai_chart.chart_features import chart_features, correlation, mark_match
from handaxe.papers.hai_chart.chart_tables import make_table

NUMBERS = st.lists(st.floats(-100, 100), min_size=2, max_size=12)


def data(*y):
    return ChartData(np.arange(len(y), dtype=float), np.array(y, float))


def test_correlation_takes_the_best_of_both_scales():
    assert correlation(np.array([1.0, 2, 3]), np.array([2.0, 4, 8])) == pytest.approx(1, abs=1e-9)
    # deviations -1, 0, 1 and -1, 1, 0; no logarithm of values at or below 0
    assert correlation(np.array([-1.0, 0, 1]), np.array([-1.0, 1, 0])) == pytest.approx(0.5, abs=1e-9)
    assert correlation(np.array([1.0, 1]), np.array([2.0, 3])) == 0


@pytest.mark.parametrize(
    "mark, values, expected",
    [
        ("arc", (1, 1), math.log(2) / math.log(10)),
        ("arc", (1, 3), -(0.25 * math.log(0.25) + 0.75 * math.log(0.75)) / math.log(10)),
        ("arc", (1,) * 20, math.log(20) / math.log(10) / 2),
        ("arc", (1, -1), 0),
        ("arc", (5,), 0),
        ("bar", (1,), 0),
        ("bar", (1, 2), 1),
        ("bar", (1,) * 40, 0.5),
        ("point", (0, 1, 2), 1),
        ("line", (0, 1, 2), 1),
        ("line", (1, 0, 1), 0),
    ],
)
def test_the_match_of_mark_and_data(mark, values, expected):
    assert mark_match(mark, data(*values), ordered=True) == pytest.approx(expected, abs=1e-9)


def test_a_categorical_axis_has_no_trend():
    assert mark_match("line", data(0, 1, 2), ordered=False) == 0


@given(NUMBERS, st.sampled_from(["bar", "line", "point", "arc"]), st.booleans())
def test_the_match_is_between_0_and_1(values, mark, ordered):
    assert 0 <= mark_match(mark, data(*values), ordered=ordered) <= 1 + 1e-9


def test_features_by_hand():
    table = make_table("pets", {"age": [1, 2, 3, 4], "size": [2, 4, 6, 8]}, dict.fromkeys(("age", "size"), "numerical"))
    query = ("point", "age", "none", "size", "none", "none", "none")
    found = chart_features(table, query, chart_data(table, query))
    flags = [0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0]
    np.testing.assert_allclose(found, [*flags, 1, 0, 1, math.log10(4) / 4], atol=1e-9)
