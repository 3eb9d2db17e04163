from handaxe.training.record.run_record import RunRecord
from handaxe.view.record_search import Where
from handaxe.view.rows import COLUMNS, MOST, Rows


def test_pages_are_parts_of_the_sorted_rows(viewed):
    with RunRecord.open(viewed / "seed-0") as record:
        rows = Rows(record)
        every = rows.page(Where(), order="step", descending=True, length=MOST)
        parts = [rows.page(Where(), order="step", descending=True, start=k, length=4)["rows"] for k in (0, 4, 8)]
        assert every["total"] == 11 and every["rows"] == [row for part in parts for row in part]
        assert [row[COLUMNS.index("step")] for row in every["rows"]] == [2] * 5 + [1] * 3 + [0] * 3
        assert rows.page(Where(), start=-5, length=10**9)["rows"] == rows.page(Where())["rows"]


def test_rows_have_adjacent_rows_and_groups(viewed):
    with RunRecord.open(viewed / "seed-0") as record:
        rows = Rows(record)
        assert rows.adjacent(1) == {"previous": None, "next": 2} and rows.adjacent(11)["next"] is None
        assert rows.in_group(rows.group_of(1)) == [1, 2, 3] and rows.tools() == ["look"]
