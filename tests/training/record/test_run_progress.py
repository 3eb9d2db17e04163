"""Progress of a run: steps, checkpoints and stages."""

import sqlite3

from handaxe.training.record.run_progress import has_progress, has_stage_progress
from handaxe.training.record.run_record import RunRecord


def begin(folder, *, steps=0):
    with RunRecord(folder, about={}) as record:
        record.write_event(0, "failed", "before the first step")
        for step in range(steps):
            record.write_step(step, [], {"loss": 0.0})


def test_a_run_without_a_step_has_no_progress(tmp_path):
    assert not has_progress(tmp_path / "none")
    begin(tmp_path / "run")
    assert not has_progress(tmp_path / "run")


def test_a_step_or_a_checkpoint_is_progress(tmp_path):
    begin(tmp_path / "run", steps=1)
    assert has_progress(tmp_path / "run")
    (tmp_path / "other" / "checkpoints" / "step-000001").mkdir(parents=True)
    assert has_progress(tmp_path / "other")


def test_a_stage_counts_with_its_record_or_its_files(tmp_path):
    begin(tmp_path / "run")
    begin(tmp_path / "run" / "stages" / "00-teach")
    assert not has_progress(tmp_path / "run")
    (tmp_path / "run" / "stages" / "01-probe").mkdir()
    (tmp_path / "run" / "stages" / "01-probe" / "writer.lock").touch()
    assert not has_stage_progress(tmp_path / "run" / "stages")
    (tmp_path / "run" / "stages" / "01-probe" / "play.json").touch()
    assert has_progress(tmp_path / "run")


def test_a_damaged_record_is_progress(tmp_path):
    begin(tmp_path / "run")
    with sqlite3.connect(tmp_path / "run" / "record.sqlite") as db:
        db.execute("DROP TABLE steps")
    db.close()
    assert has_progress(tmp_path / "run")
