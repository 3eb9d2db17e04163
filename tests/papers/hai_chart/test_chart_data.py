import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.papers.hai_chart.chart_data import chart_data
from handaxe.papers.hai_chart.chart_tables import make_table

KINDS = {"pet": "categorical", "age": "numerical", "size": "numerical", "day": "temporal"}
PETS = make_table(
    "pets",
    {
        "pet": ["cat", "dog", "cat"],
        "age": [3, 5, 4],
        "size": [0, 10, 4.9],
        "day": ["2020-01-02", "2020-02-03", "2021-01-05"],
    },
    KINDS,
)


def test_the_docstring_example():
    data = chart_data(PETS, ("bar", "pet", "average", "age", "none", "descending", "none"))
    assert data.x.tolist() == [1, 0] and data.y.tolist() == [5, 3.5]


@pytest.mark.parametrize(
    "query, x, y",
    [
        (("bar", "pet", "count", "records", "none", "none", "none"), [0, 1], [2, 1]),
        (("bar", "pet", "sum", "age", "none", "ascending", "none"), [1, 0], [5, 7]),
        (("point", "size", "none", "age", "none", "none", "none"), [0, 4.9, 10], [3, 4, 5]),
        (("bar", "size", "count", "records", "auto", "none", "none"), [0, 4, 9], [1, 1, 1]),
        (("line", "day", "average", "age", "month", "none", "none"), [0, 1], [3.5, 5]),
        (("line", "day", "sum", "age", "year", "none", "none"), [50, 51], [8, 4]),
    ],
)
def test_groups_bins_and_orders(query, x, y):
    data = chart_data(PETS, query)
    np.testing.assert_allclose(data.x, x, atol=1e-9)
    np.testing.assert_allclose(data.y, y, atol=1e-9)


def test_the_filter_keeps_the_largest_points_in_the_order_of_x():
    columns = {"k": [f"{one:02d}" for one in range(12)], "v": [float(one % 7) for one in range(12)]}
    table = make_table("many", columns, {"k": "categorical", "v": "numerical"})
    data = chart_data(table, ("bar", "k", "sum", "v", "none", "none", "top5"))
    assert data.x.tolist() == [3, 4, 5, 6, 11] and data.y.tolist() == [3, 4, 5, 6, 4]


def test_aggregation_agrees_with_a_slow_loop():
    rng = np.random.default_rng(0)
    columns = {"k": rng.integers(0, 5, 40).astype(str), "v": rng.normal(size=40)}
    table = make_table("drawn", columns, {"k": "categorical", "v": "numerical"})
    data = chart_data(table, ("bar", "k", "average", "v", "none", "none", "none"))
    for place, label in enumerate(sorted(set(table.columns["k"]))):
        own = [v for k, v in zip(table.columns["k"], table.columns["v"]) if k == label]
        assert data.y[place] == pytest.approx(sum(own) / len(own), abs=1e-9)


def test_bad_queries_are_input_errors():
    with pytest.raises(InputError, match="2 clauses"):
        chart_data(PETS, ("bar", "pet"))
    with pytest.raises(InputError, match="no column 'height'"):
        chart_data(PETS, ("bar", "pet", "sum", "height", "none", "none", "none"))
