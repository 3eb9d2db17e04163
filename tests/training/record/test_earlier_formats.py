"""Groups of records of formats 5 and 6: format_5.sql and format_6.sql were written by the handaxe of that format."""

import importlib.util
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from helpers.image_records import noise, shown_group, shown_trajectory

from handaxe.core.records import Disposition, PlayedGroup
from handaxe.ops.codec import unpack
from handaxe.training.record.groups import group_fate, is_trained
from handaxe.training.record.run_record import RunRecord
from handaxe.training.record.schema import FORMAT, create
from handaxe.training.record.writing import write_group

HISTORIES = [
    [
        [Disposition("trained")],
        [Disposition("masked", "mask_overlong")],
        [Disposition("masked", "on_ending")],
        [Disposition("unscored", "infra_error")],
        [Disposition("unscored", "infra_error")],
        [Disposition("unscored", "stopped")],
    ],
    [[Disposition("dropped", "drop_equal_groups")]],
    [[Disposition("surplus", "rounds")]],
    [
        [Disposition("unscored", "infra_error"), Disposition("dropped", "on_ending")],
        [Disposition("dropped", "on_ending")],
    ],
    [[Disposition("unscored", "infra_error")]],
    [[]],
]
FATES = ["trained", "unselected", "surplus", "dropped", "unscored", "trained"]


@pytest.fixture
def old(tmp_path):
    db = sqlite3.connect(tmp_path / "record.sqlite")
    db.executescript((Path(__file__).parent / "format_5.sql").read_text())
    assert db.execute("PRAGMA user_version").fetchone() == (5,)
    db.close()
    return tmp_path


def check_groups(groups):
    found = [[list(own) for own in one.played.dispositions] for one in groups]
    assert found == HISTORIES
    assert [group_fate(one) for one in groups] == FATES
    assert [isinstance(one, PlayedGroup) for one in groups] == [fate in ("dropped", "unscored") for fate in FATES]
    first, last = groups[0], groups[-1]
    assert [first.place(i) for i in range(6)] == [0, 1, 2, None, None, None]
    assert [is_trained(first, i) for i in range(6)] == [True, False, False, False, False, False]
    assert first.scores.outcome.tolist() == [0.0, 1.0, 2.0] and first.advantages.tokens[0][0].max() == 0.5
    assert first.played.ages.tolist()[:3] == [1.0, 0.0, 0.0] and first.moved[1:] == (None, None)
    assert first.moved[0][0].tolist() == [False, False, False, True]
    assert last.part == 2 and last.trained.tolist() == [True] and last.moved is None


def test_record_of_format_5_is_read_with_its_dispositions(old):
    with RunRecord.open(old) as record:
        check_groups(record.groups())


def test_record_of_format_5_is_read_alike_after_its_upgrade(old):
    with RunRecord(old) as record:
        assert record.query("PRAGMA user_version") == [(FORMAT,)]
        check_groups(record.groups())


@pytest.fixture
def text_only(tmp_path):
    """format_6.sql is a record of `test_rows.recorded` and `test_rows.with_what_is_new` from before images existed."""
    db = sqlite3.connect(tmp_path / "record.sqlite")
    db.executescript((Path(__file__).parent / "format_6.sql").read_text())
    assert db.execute("PRAGMA user_version").fetchone() == (6,)
    db.close()
    return tmp_path


def table_rows(db):
    """Rows of every table with rows; arrays as type and bytes, since compressed bytes depend on the version of zlib."""
    names = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
    packed = {"ids", "author", "turn", "logp", "behaviour_logp", "version", "advantages", "returns", "trains", "pushed"}
    found = {}
    for name in names:
        cursor = db.execute(f"SELECT * FROM {name}")
        columns = [one[0] for one in cursor.description]
        arrays = {"sequences": packed, "features": {"data"}, "turn_scores": {"data"}}.get(name, set())
        rows = [
            tuple(
                (unpack(value).dtype.str, unpack(value).tobytes()) if column in arrays and value is not None else value
                for column, value in zip(columns, row)
            )
            for row in cursor
        ]
        if rows:
            found[name] = rows
    return found


def test_text_only_rows_are_those_of_format_6(text_only):
    spec = importlib.util.spec_from_file_location("record_rows", Path(__file__).parent / "test_rows.py")
    rows = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(rows)
    first = rows.recorded()
    with closing(sqlite3.connect(":memory:")) as now, closing(sqlite3.connect(text_only / "record.sqlite")) as then:
        create(now)
        write_group(now, first)
        write_group(now, rows.with_what_is_new(first))
        assert table_rows(now) == table_rows(then)
    with RunRecord.open(text_only) as record:
        for before, after in zip((first, rows.with_what_is_new(first)), record.groups(), strict=True):
            rows.assert_same(before, after)
        assert record.image("0" * 64) is None


def test_record_of_format_6_takes_images_after_its_upgrade(text_only):
    one = shown_trajectory(noise(0), noise(1))
    with RunRecord(text_only) as record:
        record.write_step(9, [shown_group(one, step=9)], {})
        assert record.trajectories(step=9)[0].images == one.images
