import io
import signal
import subprocess
import sys
import time

import pytest
from rich.console import Console

from handaxe.commands.jobs import TrainingJob, finished, run_jobs, stage_progress
from handaxe.commands.sides import make_job, side
from handaxe.core.errors import HandaxeError, InputError
from handaxe.training.record.run_record import RunRecord

SMALL = "--steps 2 --groups 2 --group-size 2 --held-out 2"
QUIET = Console(file=io.StringIO())


def job(tmp_path, seed=0, options=SMALL):
    return make_job(side("grpo_no_kl --world arithmetic", options.split()), seed, tmp_path / "runs")


@pytest.mark.slow
def test_killed_run_resumes_and_finished_run_is_not_repeated(tmp_path):
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


@pytest.mark.slow
def test_failed_run_is_named_with_its_last_lines(tmp_path):
    bad = TrainingJob("bad, seed 1", ("train", str(tmp_path / "no.json")), tmp_path / "runs" / "bad", 1)
    with pytest.raises(HandaxeError, match="(?s)bad, seed 1 failed .exit code 2.*no.json cannot be read"):
        run_jobs([bad], at_once=1, console=QUIET, title="test")


def test_run_of_another_process_is_not_removed(tmp_path):
    one = job(tmp_path)
    with RunRecord(one.folder), pytest.raises(InputError, match=r"process \d+ is writing the run in"):
        run_jobs([one], at_once=1, console=QUIET, title="test")
    assert (one.folder / "record.sqlite").exists()


def test_no_jobs_do_nothing_and_zero_parallel_runs_raise(tmp_path):
    run_jobs([], at_once=1, console=QUIET, title="test")
    with pytest.raises(InputError, match="1 or more"):
        run_jobs([], at_once=0, console=QUIET, title="test")


def test_progress_of_a_stage_is_shown_until_the_first_step(tmp_path):
    log = tmp_path / "run.log"
    assert stage_progress(log) == ""
    log.write_text("method     eureka\nrun        1/2\n")
    assert stage_progress(log) == ""
    log.write_text(
        "x" * 3000 + "\nteach 9/12  0:03 left  loss 0.1\nteach 12/12  in 0:09\ntrial 3/12  1:18 left  score 0.4\n"
    )
    assert stage_progress(log) == "trial 3/12"
    with log.open("a") as file:
        file.write("step 1/8  0:25 left  reward 0.5\n")
    assert stage_progress(log) == ""


def test_missing_folder_is_not_finished(tmp_path):
    assert not finished(job(tmp_path))
