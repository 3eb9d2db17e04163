"""Runs training commands in parallel, one process per run, and resumes stopped runs."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from rich.console import Console

from handaxe.core.errors import HandaxeError, InputError
from handaxe.models.saved_policy import list_checkpoints
from handaxe.training.loop.progress import Bar
from handaxe.training.record.folder import FolderLock
from handaxe.training.record.run_record import RunRecord

__all__ = ["TrainingJob", "finished", "run_jobs", "stage_progress"]

POLL = 0.2
LAST_LINES = 12
TAIL = 2048
"""Bytes at the end of the output of a run that are searched for its progress."""
PROGRESS = re.compile(r"^(\w+(?: \w+)* \d+/\d+)(?=  |$)", re.MULTILINE)
"""Beginning of a line of a `Bar` in a log file."""
PATIENCE = 60.0
"""Seconds for a run to finish its step after a signal, before it is killed."""


class TrainingJob(NamedTuple):
    """A training run: words after `handaxe` to start it, folder, and number of steps."""

    name: str
    words: tuple[str, ...]
    folder: Path
    steps: int


def finished(job: TrainingJob) -> bool:
    """Return True if the record has the end of the run, after all steps or with the reason of an earlier end."""
    try:
        with RunRecord.open(job.folder) as record:
            events = record.events()
            ended = bool(events) and events[-1].kind == "finished"
            return ended and (len(record.steps()) >= job.steps or bool(events[-1].text))
    except InputError:  # no record, or a run stopped before its first step
        return False


def stage_progress(log: Path) -> str:
    """Return the progress of a stage before the first step, from the output of a run.

    Args:
        log: file with the output of a run; it may be missing.

    Returns:
        Name and steps of the current stage; empty once training steps are shown, and if nothing is shown yet.

    Example:
        "teach 40/120  1:05 left  loss 0.08" as last line of progress -> "teach 40/120"
    """
    with suppress(OSError), log.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - TAIL))
        found = PROGRESS.findall(file.read().decode("utf-8", "replace"))
        return found[-1] if found and not found[-1].startswith("step ") else ""
    return ""


def run_jobs(
    jobs: Sequence[TrainingJob], *, at_once: int, console: Console, title: str, until: float | None = None
) -> bool:
    """Run every unfinished job, `at_once` in parallel, each with one thread of torch.

    A stopped run resumes from the last checkpoint; without a checkpoint it starts from scratch. After Ctrl-C the
    running jobs finish their step and write a checkpoint.

    Args:
        until: no job starts after this time of `time.monotonic`; None for no limit.

    Returns:
        True if every job is finished, False if time was over before.

    Raises:
        HandaxeError: a run failed; the message has its last lines of output. All other runs are stopped.
        KeyboardInterrupt: after Ctrl-C, once all runs are stopped.
    """
    if at_once < 1:
        raise InputError(f"{at_once} parallel runs; give 1 or more")
    waiting = [job for job in dict.fromkeys(jobs) if not finished(job)]
    total, done = sum(job.steps for job in waiting), {job: _steps(job) for job in waiting}
    working: dict[TrainingJob, subprocess.Popen[bytes]] = {}
    with Bar(total, done=sum(done.values()), title=f"{title}, step", console=console) as bar, _stopping(working):
        runs, over = len(waiting), 0
        while (waiting and not _is_over(until)) or working:
            while waiting and len(working) < at_once and not _is_over(until):
                job = waiting.pop(0)
                working[job] = _start(job)
            time.sleep(POLL)
            for job, process in list(working.items()):
                done[job] = _steps(job)
                if process.poll() is None:
                    continue
                del working[job]
                if process.returncode or not finished(job):
                    raise HandaxeError(f"{job.name} failed (exit code {process.returncode}):\n{_last_lines(job)}")
                done[job], over = job.steps, over + 1
            at_work = [f"{job.name}, {stage_progress(_log(job)) or f'step {done[job]}/{job.steps}'}" for job in working]
            bar.reach(sum(done.values()), [f"{over} of {runs} runs done"], under=at_work)
    return not waiting


def _is_over(until: float | None) -> bool:
    return until is not None and time.monotonic() >= until


def _start(job: TrainingJob) -> subprocess.Popen[bytes]:
    words: Sequence[str] = ["resume", str(job.folder)]
    if not list_checkpoints(job.folder / "checkpoints"):
        _remove(job.folder)
        words = [*job.words, "--out", str(job.folder)]
    job.folder.parent.mkdir(parents=True, exist_ok=True)
    environment = os.environ | {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}
    with _log(job).open("wb") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "handaxe", *words],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,  # the terminal's Ctrl-C reaches this process only, which signals each run once
        )


def _remove(folder: Path) -> None:
    """Remove the folder of a run without a checkpoint. Raises InputError for a folder in use."""
    if folder.is_dir():
        with FolderLock(folder):
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _stopping(working: dict[TrainingJob, subprocess.Popen[bytes]]) -> Iterator[None]:
    """Stop all running jobs on exit, also after an error."""
    try:
        yield
    finally:
        for process in working.values():
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)  # a run handles it as Ctrl-C; SIGINT may be ignored, as after nohup
        until = time.monotonic() + PATIENCE
        for process in working.values():
            try:
                process.wait(max(0.0, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def _steps(job: TrainingJob) -> int:
    try:
        with RunRecord.open(job.folder) as record:
            return len(record.steps())
    except InputError:  # no record yet
        return 0


def _log(job: TrainingJob) -> Path:
    return job.folder.with_name(f"{job.folder.name}.log")


def _last_lines(job: TrainingJob) -> str:
    lines = _log(job).read_text(encoding="utf-8", errors="replace").splitlines()
    return "\n".join(lines[-LAST_LINES:])
