import shutil

import pytest

from handaxe.core.errors import InputError
from handaxe.view.runs import Runs, find_runs


def test_find_runs_names_runs_by_path(viewed):
    assert list(find_runs(viewed)) == ["seed-0", "seed-1"]
    assert list(find_runs(viewed / "seed-0")) == ["seed-0"]


def test_damaged_runs_are_ignored(tmp_path, decoder):
    runs = Runs(tmp_path, decoder)
    assert runs.all() == []
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "record.sqlite").write_bytes(b"no database at all, but long enough to be taken for one")
    (tmp_path / "run" / "checkpoints").mkdir(parents=True)
    assert runs.all() == []
    with pytest.raises(InputError):
        runs["bad"]


def test_decoder_is_made_on_first_use_and_removed_run_is_closed(tmp_path, viewed):
    shutil.copytree(viewed / "seed-0", tmp_path / "run")
    folders = []
    runs = Runs(tmp_path, lambda folder: folders.append(folder) or str)
    (run,) = runs.all()
    assert not folders and run.decode is run.decode is str and folders == [tmp_path / "run"]
    shutil.rmtree(tmp_path / "run")
    assert runs.all() == []
    with pytest.raises(InputError, match="closed database"):
        run.record.query("SELECT 1")


def test_missing_folder_and_run_raise(tmp_path, decoder):
    with pytest.raises(InputError, match="no folder"):
        Runs(tmp_path / "none", decoder)
    with pytest.raises(InputError, match="no run 'other'"):
        Runs(tmp_path, decoder)["other"]


def test_replaced_run_is_opened_again(tmp_path, viewed, decoder):
    shutil.copytree(viewed / "seed-0", tmp_path / "run")
    runs = Runs(tmp_path, decoder)
    before = runs["run"]
    assert before.settings["seed"] == 0 and runs["run"] is before
    shutil.copytree(viewed / "seed-1", tmp_path / "new")
    shutil.rmtree(tmp_path / "run")
    (tmp_path / "new").rename(tmp_path / "run")
    assert runs["run"].settings["seed"] == 1
    runs.close()
