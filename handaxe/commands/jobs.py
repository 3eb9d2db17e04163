"""Runs many training commands side by side, each in a process of its own, and goes on where it was stopped."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from rich.console import Console

from handaxe.core.errors import HandaxeError, InputError
from handaxe.training.loop.progress import Bar
from handaxe.training.record.checkpoint import Checkpoints
from handaxe.training.record.folder import FolderLock
from handaxe.training.record.run_record import RunRecord

__all__ = ["TrainingJob", "finished", "run_jobs"]

POLL = 0.2
LAST_LINES = 12
PATIENCE = 60.0
"""Seconds that a run is given to finish its step after Ctrl-C, before it is killed."""


class TrainingJob(NamedTuple):
    """One training run. `words` follow `handaxe` where it is begun; its folder is `folder`, of `steps` steps."""

    name: str
    words: tuple[str, ...]
    folder: Path
    steps: int


def finished(job: TrainingJob) -> bool:
    """Whether all steps of a run are recorded and its end is."""
    try:
        with RunRecord.open(job.folder) as record:
            ends = [event.kind for event in record.events()]
            return len(record.steps()) >= job.steps and bool(ends) and ends[-1] == "finished"
    except InputError:  # not there, or stopped before it began
        return False


def run_jobs(jobs: Sequence[TrainingJob], *, at_once: int, console: Console, title: str) -> None:
    """Do every job that is not finished, `at_once` at a time, each on one thread of torch.

    A run that was stopped is resumed from its last checkpoint; one without a checkpoint begins anew. After Ctrl-C the
    runs at work finish their step and write a checkpoint.

    Raises:
        HandaxeError: a run failed; the message has its last lines, and the others are stopped.
        KeyboardInterrupt: after Ctrl-C, once all are stopped.
    """
    if at_once < 1:
        raise InputError(f"{at_once} runs at a time; give 1 or more")
    waiting = [job for job in dict.fromkeys(jobs) if not finished(job)]
    total, begun = sum(job.steps for job in waiting), {job: _steps(job) for job in waiting}
    working: dict[TrainingJob, subprocess.Popen[bytes]] = {}
    with Bar(total, done=sum(begun.values()), title=f"{title}, step", console=console) as bar, _stopping(working):
        runs, over = len(waiting), 0
        while waiting or working:
            while waiting and len(working) < at_once:
                job = waiting.pop(0)
                working[job] = _begin(job)
            time.sleep(POLL)
            for job, process in list(working.items()):
                begun[job] = _steps(job)
                if process.poll() is None:
                    continue
                del working[job]
                if process.returncode or not finished(job):
                    raise HandaxeError(f"{job.name} failed (exit code {process.returncode}):\n{_said(job)}")
                begun[job], over = job.steps, over + 1
            at_work = [f"{job.name}, step {begun[job]}/{job.steps}" for job in working]
            bar.reach(sum(begun.values()), [f"{over} of {runs} runs done"], under=at_work)


def _begin(job: TrainingJob) -> subprocess.Popen[bytes]:
    words: Sequence[str] = ["resume", str(job.folder), "--quiet"]
    if not Checkpoints(job.folder / "checkpoints").found():
        _remove(job.folder)
        words = [*job.words, "--out", str(job.folder), "--quiet"]
    job.folder.parent.mkdir(parents=True, exist_ok=True)
    environment = os.environ | {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}
    with _log(job).open("wb") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "handaxe", *words],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,  # Ctrl-C is passed on by this process, once
        )


def _remove(folder: Path) -> None:
    """Remove what a run left that never came to a checkpoint; one that is at work is not removed but an InputError."""
    if folder.is_dir():
        with FolderLock(folder):
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _stopping(working: dict[TrainingJob, subprocess.Popen[bytes]]) -> Iterator[None]:
    """Whatever ends the block, no run stays behind."""
    try:
        yield
    finally:
        for process in working.values():
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
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
    except InputError:  # not there yet
        return 0


def _log(job: TrainingJob) -> Path:
    return job.folder.with_name(f"{job.folder.name}.log")


def _said(job: TrainingJob) -> str:
    lines = _log(job).read_text(encoding="utf-8", errors="replace").splitlines()
    return "\n".join(lines[-LAST_LINES:])
