import io
import signal
import subprocess
import sys
import time

import pytest
from rich.console import Console

from handaxe.commands.jobs import TrainingJob, finished, run_jobs
from handaxe.commands.sides import job_of, side
from handaxe.core.errors import HandaxeError, InputError
from handaxe.training.record.run_record import RunRecord

SMALL = "--steps 2 --groups 2 --group-size 2 --held-out 2"
QUIET = Console(file=io.StringIO())


def job(tmp_path, seed=0, options=SMALL):
    return job_of(side("plain --world sums", options), seed, tmp_path / "runs")


@pytest.mark.slow
def test_a_run_is_done_once_and_goes_on_where_it_was_killed(tmp_path):
    one = job(tmp_path, options="--steps 60 --groups 2 --group-size 2 --held-out 2")
    words = [sys.executable, "-m", "handaxe", *one.words, "--out", str(one.folder), "--quiet"]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not list(one.folder.glob("checkpoints/step-*")) and process.poll() is None:
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL and not finished(one)
    run_jobs([one, one], at_once=2, console=QUIET, title="test")
    with RunRecord.open(one.folder) as record:
        kinds = [event.kind for event in record.events() if event.kind != "warning"]
        assert kinds == ["started", "resumed", "finished"] and record.steps() == list(range(60))
    before = (one.folder / "record.sqlite").stat().st_mtime_ns
    run_jobs([one], at_once=1, console=QUIET, title="test")
    assert finished(one) and (one.folder / "record.sqlite").stat().st_mtime_ns == before


def test_a_run_that_fails_is_named_with_its_last_words(tmp_path):
    bad = TrainingJob("bad, seed 1", ("train", str(tmp_path / "no.json")), tmp_path / "runs" / "bad", 1)
    with pytest.raises(HandaxeError, match="(?s)bad, seed 1 failed .exit code 2.*no.json is not the recipe.json"):
        run_jobs([bad], at_once=1, console=QUIET, title="test")


def test_a_run_that_another_process_is_at_is_not_removed(tmp_path):
    one = job(tmp_path)
    with RunRecord(one.folder), pytest.raises(InputError, match=r"process \d+ is writing the run in"):
        run_jobs([one], at_once=1, console=QUIET, title="test")
    assert (one.folder / "record.sqlite").exists()


def test_nothing_to_do_and_nothing_at_a_time(tmp_path):
    run_jobs([], at_once=1, console=QUIET, title="test")
    with pytest.raises(InputError, match="1 or more"):
        run_jobs([], at_once=0, console=QUIET, title="test")


def test_a_folder_that_is_not_there_is_not_finished(tmp_path):
    assert not finished(job(tmp_path))
