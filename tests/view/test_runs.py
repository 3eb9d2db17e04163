import os
import shutil
from pathlib import Path

import pytest

from handaxe.core.errors import InputError
from handaxe.view.runs import Runs, find_runs, printable_name


def test_find_runs_names_runs_by_path(viewed):
    assert list(find_runs(viewed)) == ["seed-0", "seed-1"]
    assert list(find_runs(viewed / "seed-0")) == ["seed-0"]


def test_damaged_runs_have_a_name_and_an_error(tmp_path, decoder):
    runs = Runs(tmp_path, decoder)
    assert runs.all() == []
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "record.sqlite").write_bytes(b"no database at all, but long enough to be taken for one")
    (tmp_path / "run" / "checkpoints").mkdir(parents=True)
    assert runs.all() == [] and runs.names() == ["bad"]
    with pytest.raises(InputError, match="the record in .*bad is damaged"):
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


def test_run_in_a_folder_with_a_name_that_is_not_utf8_can_be_opened(tmp_path, viewed, decoder):
    shutil.copytree(viewed / "seed-0", tmp_path / os.fsdecode(b"caf\xe9"))
    runs = Runs(tmp_path, decoder)
    assert runs.names() == [r"caf\xe9"] and printable_name("\u00e9") == "\u00e9"
    assert runs[r"caf\xe9"].record.steps() == [0, 1, 2]
    runs.close()


LINKS = {
    "record link": lambda run, out: link_away(run / "record.sqlite", out),
    "recipe link": lambda run, out: link_away(run / "recipe.json", out),
    "record pipe": lambda run, out: pipe(run / "record.sqlite"),
    "recipe pipe": lambda run, out: pipe(run / "recipe.json"),
    "journal pipe": lambda run, out: pipe(run / "record.sqlite-journal"),
    "recipe device": lambda run, out: link_away(run / "recipe.json", Path("/dev/zero")),
}


def link_away(file, target):
    if target.is_dir():
        shutil.move(file, target / file.name)
        target = target / file.name
    file.unlink(missing_ok=True)
    file.symlink_to(target)


def pipe(file):
    file.unlink(missing_ok=True)
    os.mkfifo(file)


@pytest.mark.parametrize("damage", LINKS.values(), ids=LINKS)
def test_links_out_of_the_folder_and_pipes_are_errors_of_one_run(tmp_path, viewed, decoder, damage):
    folder, out = tmp_path / "runs", tmp_path / "out"
    out.mkdir()
    for name in ("bad", "good"):
        shutil.copytree(viewed / "seed-0", folder / name)
    damage(folder / "bad", out)
    runs = Runs(folder, decoder)
    assert runs.names() == ["bad", "good"] and [run.name for run in runs.all()] == ["good"]
    with pytest.raises(InputError, match="is a link out of .*runs|is not a regular file"):
        runs["bad"]
    runs.close()


def test_run_with_a_damaged_recipe_has_a_fault_and_no_settings(tmp_path, viewed, decoder):
    shutil.copytree(viewed / "seed-0", tmp_path / "run")
    (tmp_path / "run" / "recipe.json").write_text("{")
    runs = Runs(tmp_path, decoder)
    assert "recipe.json is damaged" in runs["run"].fault and not runs["run"].settings
    assert runs["run"].record.steps() == [0, 1, 2]
    runs.close()


@pytest.mark.parametrize("place", ["format/format.json", "config.json", "checkpoints/link", "format"])
def test_decoder_reads_regular_files_of_the_run_only(tmp_path, viewed, place):
    shutil.copytree(viewed / "seed-0", tmp_path / "run")
    file = tmp_path / "run" / place
    file.parent.mkdir(exist_ok=True)
    if place in ("checkpoints/link", "format"):
        file.symlink_to(viewed)
    else:
        os.mkfifo(file)
    runs = Runs(tmp_path, lambda folder: pytest.fail("the decoder was made"))
    with pytest.raises(InputError, match="is not a regular file|is a link to a folder"):
        runs["run"].decode
    runs.close()
