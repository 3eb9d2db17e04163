"""Groups of a record of format 5: format_5.sql is a record that the handaxe of that format wrote, dumped as text."""

import sqlite3
from pathlib import Path

import pytest

from handaxe.core.records import Disposition, PlayedGroup
from handaxe.training.record.groups import group_fate, is_trained
from handaxe.training.record.run_record import RunRecord
from handaxe.training.record.schema import FORMAT

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
