"""Records of older formats: format_1.sql is what the handaxe of that format wrote, dumped as text.

It holds a step of two groups of two attempts, each with a call and an answer, as `training.loop.train.train` recorded
it; and a step of the group that `test_rows.recorded` builds.
"""

import importlib.util
import math
import sqlite3
from pathlib import Path

import pytest

from handaxe.cli import main
from handaxe.core.errors import InputError
from handaxe.core.records import Disposition, check
from handaxe.training.record.groups import group_fate
from handaxe.training.record.run_record import RunRecord
from handaxe.training.record.schema import FORMAT, SCHEMA, create

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def rows():
    spec = importlib.util.spec_from_file_location("record_rows", HERE / "test_rows.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def old(tmp_path):
    db = sqlite3.connect(tmp_path / "record.sqlite")
    db.executescript((HERE / "format_1.sql").read_text())
    db.close()
    (tmp_path / "recipe.json").write_text('{"arguments": {"format": "handaxe.models.chat_formats.compact.Compact"}}')
    return tmp_path


def format_of(folder):
    db = sqlite3.connect(folder / "record.sqlite")
    (found,) = db.execute("PRAGMA user_version").fetchone()
    db.close()
    return found


def check_old(record, rows):
    assert record.steps() == [0, 1] and list(record.evaluations()) == [0, 1, 2]
    assert [event.kind for event in record.events()] == ["started", "finished"]
    first, second = record.metrics()
    assert first["tokens/sampled"] > 0 and math.isnan(second["reward"])
    groups = record.groups(step=0)
    assert [one.group.task.id for one in groups] == ["t0", "t1"] and [group_fate(one) for one in groups] == [
        "trained"
    ] * 2
    for trajectory in record.trajectories(step=0):
        check(trajectory)
        assert len(trajectory.turns) == 2 and trajectory.replies[0].content == "1 2"
        assert trajectory.notes == {} and all(turn.facts == {} for turn in trajectory.turns)
        assert "old_logp" in trajectory.sequences[0].features
    assert {own for one in groups for own in one.played.dispositions} == {(Disposition("trained"),)}
    (found,) = record.groups(step=1)
    rows.assert_same(rows.at_step(rows.recorded(), 1), found)
    assert found.advantages.trains is None and found.part == 0


def test_an_old_record_is_read_as_it_is(old, rows):
    assert format_of(old) == 1
    before = (old / "record.sqlite").read_bytes()
    with RunRecord.open(old) as record:
        check_old(record, rows)
    assert (old / "record.sqlite").read_bytes() == before


def test_an_old_record_is_gone_on_with(old, rows):
    with RunRecord(old) as record:
        check_old(record, rows)
        new = rows.at_step(rows.with_what_is_new(rows.recorded()), 2)
        record.write_step(2, [new], {"reward": 1.0})
    assert format_of(old) == FORMAT
    with RunRecord(old) as record:
        (found,) = record.groups(step=2)
        rows.assert_same(new, found)
        assert record.roll_back(2) == 1
        check_old(record, rows)


def test_an_old_record_is_shown(old, capsys):
    assert main(["show", str(old), "--step", "1", "--tokens"]) == 0
    text = capsys.readouterr().out
    assert "1: 0.50   2: 0.43" in text, text
    assert "add" in text, text
    assert "(trained)" in text, text


def test_an_old_record_comes_to_the_tables_of_a_new_one(old):
    RunRecord(old).close()

    def tables(db):
        names = sorted(name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'"))
        return {name: [row[1:3] for row in db.execute(f"PRAGMA table_info({name})")] for name in names}

    new = sqlite3.connect(":memory:")
    create(new)
    upgraded = sqlite3.connect(old / "record.sqlite")
    assert tables(upgraded) == tables(new) and "facts TEXT" in SCHEMA
    upgraded.close()


def test_what_is_none_of_ours_is_refused(tmp_path):
    db = sqlite3.connect(tmp_path / "record.sqlite")
    db.execute("CREATE TABLE steps (id INTEGER)")
    db.close()
    for use in (RunRecord, RunRecord.open):
        with pytest.raises(InputError, match="not a run record: its tables have no format"):
            use(tmp_path)
