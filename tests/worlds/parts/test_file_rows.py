import json

import pytest

from handaxe.core.errors import TaskError
from handaxe.worlds.parts.file_rows import FileRow, raise_faults, read_rows

CELLS = [{"question": "3 ft in m?", "answer": 0.9144, "kind": "length"}, {"question": "2 kg in g?", "answer": 2000}]


def test_json_lines_have_places(tmp_path):
    file = tmp_path / "a.jsonl"
    file.write_text("\ufeff" + json.dumps(CELLS[0]) + "\n\n" + json.dumps(CELLS[1]), encoding="utf-8")
    assert read_rows(file) == [FileRow("a.jsonl, line 1", CELLS[0]), FileRow("a.jsonl, line 3", CELLS[1])]


@pytest.mark.parametrize("suffix, mark", [(".csv", ","), (".tsv", "\t")])
def test_csv_and_tsv_are_read(tmp_path, suffix, mark):
    file = tmp_path / f"a{suffix}"
    calls = '"[{""name"": ""f"", ""arguments"": {}}]"'
    file.write_text(f'question{mark}answer{mark}calls\n"a{mark} b?"{mark}1{mark}{calls}\nc?{mark}2{mark}\n')
    assert read_rows(file) == [
        FileRow(
            f"a{suffix}, line 2", {"question": f"a{mark} b?", "answer": "1", "calls": [{"name": "f", "arguments": {}}]}
        ),
        FileRow(f"a{suffix}, line 3", {"question": "c?", "answer": "2"}),
    ]


def test_arrow_and_parquet_are_read(tmp_path):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    ipc = pytest.importorskip("pyarrow.ipc")
    table = pyarrow.Table.from_pylist(CELLS)
    parquet.write_table(table, tmp_path / "a.parquet")
    assert read_rows(tmp_path / "a.parquet")[1] == FileRow("a.parquet, row 1", CELLS[1])
    for name, write in (("stream", ipc.new_stream), ("file", ipc.new_file)):
        with write(str(tmp_path / f"{name}.arrow"), table.schema) as out:
            out.write_table(table)
        assert [row.cells for row in read_rows(tmp_path / f"{name}.arrow")] == CELLS
    (tmp_path / "bad.parquet").write_text("no table")
    with pytest.raises(TaskError, match="bad.parquet cannot be read"):
        read_rows(tmp_path / "bad.parquet")


def test_saved_data_sets_are_read(tmp_path):
    datasets, pyarrow = pytest.importorskip("datasets"), pytest.importorskip("pyarrow")
    made = datasets.Dataset(pyarrow.Table.from_pylist(CELLS), fingerprint="made-here")
    made.save_to_disk(str(tmp_path / "one"))
    assert [row.cells for row in read_rows(tmp_path / "one")] == CELLS
    datasets.DatasetDict({"train": made, "test": made}).save_to_disk(str(tmp_path / "two"))
    places = [row.place for row in read_rows(tmp_path / "two")]
    assert places[0].startswith("two/test/data-") and places[2].startswith("two/train/data-")


def test_a_folder_in_the_format_of_datasets_is_read(tmp_path):
    """A folder in the package's format, for a check without the package."""
    pyarrow, ipc = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.ipc")
    table = pyarrow.Table.from_pylist(CELLS)
    for number, name in enumerate(("data-00000-of-00002.arrow", "data-00001-of-00002.arrow")):
        with ipc.new_stream(str(tmp_path / name), table.schema) as out:
            out.write_table(table.slice(number, 1))
    files = [{"filename": f"data-0000{number}-of-00002.arrow"} for number in range(2)]
    (tmp_path / "state.json").write_text(json.dumps({"_data_files": files}))
    assert [row.cells for row in read_rows(tmp_path)] == CELLS


def test_folder_that_is_no_dataset_raises(tmp_path):
    pytest.importorskip("pyarrow")
    with pytest.raises(TaskError, match="holds no state.json: give a folder that save_to_disk"):
        read_rows(tmp_path)
    (tmp_path / "state.json").write_text("{}")
    with pytest.raises(TaskError, match="no folder of datasets that can be read: KeyError"):
        read_rows(tmp_path)


@pytest.mark.parametrize(
    "name, text, message",
    [
        ("a.jsonl", "[" * 100_000, "a.jsonl, line 1 is not JSON: it nests deeper than 64 levels"),
        ("a.jsonl", '{"a":' * 65 + "1" + "}" * 65, "a.jsonl, line 1 is not JSON: it nests deeper than 64 levels"),
        ("a.jsonl", '{"question": "a"}\n{"question"', "a.jsonl, line 2 is not JSON: .* write one object a line"),
        ("a.jsonl", "[1]\n", "a.jsonl, line 1 holds a list; write one object a line"),
        ("a.jsonl", "\n\n", "is empty: give one question or more"),
        ("a.txt", "a", r"ends in '.txt'; questions are read from .jsonl, "),
        ("a.csv", "question,answer\na,b,c\n", "a.csv, line 2 has more or fewer cells"),
        ("a.csv", "question;answer\na;b\n", "a.csv separates cells with ';': write a comma between cells"),
        ("a.tsv", "question|answer\na|b\n", "a.tsv separates cells with '\\|': write a tab between cells"),
        ("a.csv", "question,answer\na\n", "a.csv, line 2 has more or fewer cells"),
        ("a.csv", "question,calls\na,[\n", "a.csv, line 2: the cells of tools, calls, messages hold JSON"),
        ("a.csv", 'question,answer\n"a"b,c\n', r"a.csv, line \d cannot be read"),
        ("a.csv", "question,answer\n", "is empty"),
    ],
)
def test_unreadable_rows_raise_with_their_place(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(TaskError, match=message):
        raise_faults(name, [row.fault for row in read_rows(tmp_path / name) if row.fault])


def test_rows_after_a_bad_row_are_read(tmp_path):
    file = tmp_path / "a.jsonl"
    file.write_text('{"question": 1}\nno\n[2]\n{"question": 4}\n')
    rows = read_rows(file)
    assert [bool(row.fault) for row in rows] == [False, True, True, False]
    assert rows[3] == FileRow("a.jsonl, line 4", {"question": 4}) and rows[1].cells == {}


def test_many_faults_are_counted_and_the_first_twenty_listed():
    raise_faults("a.jsonl", [])
    with pytest.raises(TaskError) as one:
        raise_faults("a.jsonl", ["line 1 is bad"])
    assert str(one.value) == "line 1 is bad"
    with pytest.raises(TaskError) as many:
        raise_faults("a.jsonl", [f"line {k} is bad" for k in range(1, 24)])
    first, *rest = str(many.value).split("\n")
    assert first == "a.jsonl has 23 bad rows:" and rest[0] == "  line 1 is bad"
    assert rest[19:] == ["  line 20 is bad", "  and 3 more"]


def test_a_binary_file_raises(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(b"\xff\xfe\xff")
    with pytest.raises(TaskError, match="cannot be read: 'utf-8' codec"):
        read_rows(tmp_path / "a.jsonl")
