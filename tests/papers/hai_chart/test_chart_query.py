from handaxe.papers.hai_chart.chart_query import CLAUSES, complete_queries, next_values, view_of
from handaxe.papers.hai_chart.chart_tables import GalleryChart, make_table

KINDS = {"pet": "categorical", "age": "numerical", "weight": "numerical", "day": "temporal"}
ROWS = {"pet": ["cat", "dog"], "age": [3, 5], "weight": [1, 2], "day": ["2020-01-02", "2021-01-02"]}
PETS = make_table("pets", ROWS, KINDS)


def test_values_depend_on_the_clauses_before():
    assert next_values(PETS, ()) == ["bar", "line", "point", "arc"]
    assert next_values(PETS, ("point",)) == ["age", "weight", "day"]
    assert next_values(PETS, ("point", "age", "none")) == ["weight"]
    assert next_values(PETS, ("bar", "age", "count")) == ["records"]
    assert next_values(PETS, ("bar", "day", "sum", "age")) == ["none", "year", "month"]
    assert next_values(PETS, ("line", "day", "sum", "age", "none")) == ["none"]
    assert next_values(PETS, ("arc", "pet", "sum", "age", "none", "none")) == ["none", "top5", "top10"]


def test_constraints_leave_one_value_or_a_dead_end():
    assert next_values(PETS, (), {"mark": "arc"}) == ["arc"]
    assert next_values(PETS, ("arc",), {"x": "age"}) == []
    numbers = make_table("numbers", {"age": [1, 2]}, {"age": "numerical"})
    assert next_values(numbers, ("arc",)) == []


def test_complete_queries_are_distinct_and_have_every_clause():
    found = list(complete_queries(PETS))
    assert len(set(found)) == len(found) and {len(one) for one in found} == {len(CLAUSES)}
    # arc: pet; count 1 y, sum, average and none 2 y each; three filters
    assert sum(one[0] == "arc" for one in found) == 7 * 3
    assert next_values(PETS, found[0]) == []
    assert view_of(found[-1]) == GalleryChart("arc", "pet", "none", "weight")
