import pytest

from handaxe.core.errors import InputError
from handaxe.papers.hai_chart.chart_query import complete_queries, view_of
from handaxe.papers.hai_chart.chart_tables import chart_tables, make_table


def test_columns_get_the_types_of_their_kinds():
    kinds = {"day": "temporal", "pet": "categorical", "age": "numerical"}
    table = make_table("pets", {"day": ["2020-01-02", "2020-02-01"], "pet": ["cat", 3], "age": [3, 5]}, kinds)
    assert table.rows == 2
    assert [values.dtype.kind for values in table.columns.values()] == ["M", "U", "f"]
    assert table.columns["pet"].tolist() == ["cat", "3"]


@pytest.mark.parametrize(
    "columns, kinds, message",
    [
        ({"age": [1]}, {"age": "number"}, "kind 'number'"),
        ({"age": [1]}, {}, "kind None"),
        ({"age": [1], "pet": ["a", "b"]}, {"age": "numerical", "pet": "categorical"}, "one length"),
        ({"age": []}, {"age": "numerical"}, "at least one row"),
        ({}, {}, "at least one row"),
    ],
)
def test_a_bad_table_is_an_input_error(columns, kinds, message):
    with pytest.raises(InputError, match=message):
        make_table("pets", columns, kinds)


def test_every_gallery_chart_is_a_query_of_its_table():
    pytest.importorskip("vega_datasets")
    tables = chart_tables()
    assert len(tables) == 12 and sum(len(one.gallery) for one in tables) == 33
    for table in tables:
        views = {view_of(one) for one in complete_queries(table)}
        assert views.issuperset(table.gallery) and len(set(table.gallery)) == len(table.gallery)
