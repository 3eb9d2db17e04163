"""Streaming of shards. The rows that `datasets` reads are counted, and a process is measured."""

import gzip
import json
import os
import subprocess
import sys

import pytest

from handaxe.core.errors import InputError, TaskError
from handaxe.worlds.parts.shards import Position, open_shards

pytest.importorskip("datasets")


def write_shards(folder, shards=3, rows=200):
    folder.mkdir(parents=True, exist_ok=True)
    for shard in range(shards):
        lines = [json.dumps({"question": f"{shard} {row}?", "answer": row}) for row in range(rows)]
        (folder / f"part-{shard}.jsonl").write_text("\n".join(lines))
    return folder


def epoch(shards, *, seed=0, buffer=64, start=Position()):  # noqa: B008
    rows, position = [], start
    while position.epoch == start.epoch:
        found, position = shards.window(position, seed=seed, buffer=buffer)
        rows += [row.place for row in found]
    return rows


def test_an_epoch_has_every_row_once_in_a_seeded_order(tmp_path):
    shards = open_shards(str(write_shards(tmp_path / "data")), split="train")
    first = epoch(shards)
    assert len(set(first)) == len(first) == 600 and first == epoch(shards)
    assert sorted(first) == sorted(epoch(shards, seed=1)) and first != epoch(shards, seed=1)
    second = epoch(shards, start=Position(1))
    assert sorted(second) == sorted(first) and second != first


@pytest.mark.parametrize("buffer", [1, 50, 200, 601])
def test_a_window_starts_where_the_last_one_ended(tmp_path, buffer):
    shards = open_shards(str(write_shards(tmp_path / "data")), split="train")
    rows, position = shards.window(Position(), seed=0, buffer=buffer)
    assert len(rows) == min(buffer, 600)
    if buffer < 600:
        saved = Position(**json.loads(json.dumps(position._asdict())))
        again = open_shards(str(tmp_path / "data" / "*.jsonl"), split="train")
        assert again.window(saved, seed=0, buffer=buffer)[0] == shards.window(position, seed=0, buffer=buffer)[0]


def test_parquet_arrow_and_compressed_files_are_read(tmp_path):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = pyarrow.Table.from_pylist([{"question": f"{row}?", "answer": row, "none": None} for row in range(90)])
    parquet.write_table(table, tmp_path / "a.parquet", row_group_size=20)
    with pyarrow.ipc.new_stream(str(tmp_path / "b.arrow"), table.schema) as out:
        out.write_table(table)
    with gzip.open(tmp_path / "c.jsonl.gz", "wt") as text:
        text.writelines(json.dumps(row) + "\n" for row in table.to_pylist())
    for name in ("a.parquet", "b.arrow", "c.jsonl.gz"):
        shards = open_shards(str(tmp_path / name), split="train")
        rows, after = shards.window(Position(), seed=0, buffer=50)
        more, after = shards.window(after, seed=0, buffer=50)
        assert sorted(row.cells["answer"] for row in (*rows, *more)) == list(range(90)), name
        assert after == Position(1) and "none" not in rows[0].cells and rows[0].place.startswith(f"{name}, row ")


COUNTED = """
import sys
from datasets.iterable_dataset import IterableDataset
from handaxe.worlds.stream import stream

count, plain = 0, IterableDataset.__iter__
def counted(self):
    global count
    for row in plain(self):
        count += 1
        yield row
IterableDataset.__iter__ = counted

import psutil
warm = stream(data=sys.argv[2], buffer=100)
warm.curriculum([], 0).next(0, 50)
before = psutil.Process().memory_info().rss
count = 0
world = stream(data=sys.argv[1], buffer=100)
curriculum = world.curriculum([], 0)
for step in range(20):
    curriculum.next(step, 50)
print(count, psutil.Process().memory_info().rss - before)
"""


@pytest.mark.slow
def test_a_large_file_is_streamed(tmp_path):
    """Measured in a process of its own: RSS rises by a part of the file's size, and few of the rows are read."""
    filler, rows = "x" * 20_000, 15_000
    small = write_shards(tmp_path / "small", shards=1)
    large = tmp_path / "large.jsonl"
    with large.open("w") as out:
        for row in range(rows):
            out.write(json.dumps({"question": f"{row} {filler}?", "answer": row}) + "\n")
    done = subprocess.run(
        [sys.executable, "-c", COUNTED, str(large), str(small)], capture_output=True, text=True, check=True
    )
    read, rise = map(int, done.stdout.split())
    assert large.stat().st_size > 290_000_000 and rise < 150_000_000
    assert 1000 <= read < 1400


@pytest.mark.parametrize(
    "data, message",
    [
        ("none/*.jsonl", "no shard matches 'none/\\*.jsonl'; give a file, a folder or a pattern"),
        ("./none", "no shard matches './none'"),
        ("none.parquet", "no shard matches 'none.parquet'"),
        ("empty", "no shard matches 'empty'"),
        ("a.txt", "a.txt is no shard; shards end in .parquet, .jsonl"),
    ],
)
def test_a_missing_shard_raises(tmp_path, monkeypatch, data, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "a.txt").write_text("a")
    with pytest.raises(TaskError, match=message):
        open_shards(data, split="train")


def test_an_unreadable_shard_raises_with_its_name(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"question": "a", "answer": 1}\n{"quest\n')
    with pytest.raises(TaskError, match=r"a.jsonl, row 0 or later cannot be read: JSON parse error"):
        open_shards(str(tmp_path), split="train").window(Position(), seed=0, buffer=8)
    (tmp_path / "a.parquet").write_text("no table")
    with pytest.raises(TaskError, match=r"a.parquet.* cannot be read: "):
        open_shards(str(tmp_path / "a.parquet"), split="train").window(Position(), seed=0, buffer=8)


@pytest.mark.slow
def test_a_hub_without_connection_gives_one_sentence(tmp_path):
    code = "from handaxe.worlds.stream import stream; stream(data='nobody/questions')"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path)},
    )
    last = done.stderr.strip().splitlines()[-1]
    assert (
        InputError.__name__ in last and "there is no file or folder 'nobody/questions', and datasets finds no" in last
    )
    assert "Give a file, a folder or a pattern" in last
