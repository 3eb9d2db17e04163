"""Plays and trains trial steps of a run, and restores all state afterwards."""

from __future__ import annotations

import shutil
import tempfile
import time
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from handaxe.core.endings import NEVER_SCORED
from handaxe.core.protocols import Engine, Learner
from handaxe.core.records import STOPPED, Trajectory
from handaxe.doctor.finding import THRESHOLDS, Finding, Thresholds, grade
from handaxe.training.loop.learners import begin_all
from handaxe.training.loop.rate import rewinder
from handaxe.training.loop.train import train
from handaxe.training.record.groups import RecordedGroup
from handaxe.training.record.run_record import RunRecord

__all__ = ["CheckpointCost", "TrialSteps", "check_steps", "restored_state", "run_trial"]


@dataclass
class CheckpointCost:
    """Cost of saving the engine: seconds and bytes."""

    seconds: float = 0.0
    bytes: int = 0


@dataclass
class TrialSteps:
    """Record of the trial steps.

    steps      group records of each step
    metrics    of each step
    walls      wall-clock seconds of each step from the end of the previous step, record included
    error      the error that ended the trial early, "" for none
    """

    steps: list[list[RecordedGroup]] = field(default_factory=list)
    metrics: list[dict[str, float]] = field(default_factory=list)
    walls: list[float] = field(default_factory=list)
    error: str = ""

    @property
    def groups(self) -> list[RecordedGroup]:
        """Group records of all steps."""
        return [one for step in self.steps for one in step]

    @property
    def rollouts(self) -> list[Trajectory]:
        """Trajectories of all groups, without stopped surplus rollouts."""
        return [one for group in self.groups for one in group.played.group if one.ending != STOPPED]


class _Stopwatch:
    """Logger that notes the time at the end of each step."""

    def __init__(self) -> None:
        self.marks = [time.perf_counter()]

    def __call__(self, step: int, metrics: Mapping[str, float]) -> None:
        self.marks.append(time.perf_counter())

    def close(self) -> None:
        """Do nothing."""


@contextmanager
def restored_state(engine: Engine, learners: Sequence[Learner], parts: Sequence[object]) -> Iterator[CheckpointCost]:
    """Restore the state of engine, learners and stateful parts on exit.

    Args:
        engine: saved to a temporary folder, and loaded from it on exit.
        learners: learners that start as a copy of the policy are initialized first.
        parts: objects that are `protocols.Stateful` are restored.
    """
    begin_all(learners, engine)
    rewinds = [rewinder(part) for part in (*learners, *parts)]
    cost = CheckpointCost()
    with TemporaryDirectory(prefix="handaxe-doctor-") as folder:
        begun, place = time.perf_counter(), Path(folder) / "engine"
        engine.save(place)
        cost.seconds = time.perf_counter() - begun
        cost.bytes = sum(file.stat().st_size for file in place.rglob("*") if file.is_file())
        try:
            yield cost
        finally:
            engine.load(place)
            for rewind in rewinds:
                rewind()


def run_trial(arguments: Mapping[str, Any], *, steps: int, groups: int) -> TrialSteps:
    """Train in a temporary folder, with the arguments of the run except steps and groups.

    The folder is deleted with the result.

    An exception ends the trial and is stored in `TrialSteps.error`.

    Args:
        arguments: of `train`.
        steps, groups: replace the values in `arguments`.

    Raises:
        KeyboardInterrupt: a step was stopped.
    """
    watch, found = _Stopwatch(), TrialSteps()
    folder = tempfile.mkdtemp(prefix="handaxe-doctor-")
    weakref.finalize(found, shutil.rmtree, folder, ignore_errors=True)  # images are read from the record on demand
    out = Path(folder) / "run"
    files = {"out": out, "resume": False, "checkpoint_every": steps + 1, "checkpoints": 1}
    run = replace(arguments["run"], **files, progress=False, loggers=(watch,), evaluation=None, recipe=None)
    own = {"steps": steps, "groups": groups, "run": run}
    try:
        if train(**{**arguments, **own}).stopped:
            raise KeyboardInterrupt
    except Exception as error:
        cause = error.__cause__ if error.__cause__ is not None else error
        found.error = f"{type(error).__name__}: {cause}"
    if RunRecord.exists(out):
        with RunRecord.open(out) as record:
            found.steps = [record.groups(step=step) for step in record.steps()]
            found.metrics = record.metrics()
    found.walls = [after - before for before, after in zip(watch.marks, watch.marks[1:])]
    return found


def check_steps(trial: TrialSteps, *, limits: Thresholds = THRESHOLDS) -> Finding:
    """Check that a step can be played and trained; grade the share of rollouts failed without fault of the policy."""
    rollouts = trial.rollouts
    failed = [one for one in rollouts if one.ending.kind in NEVER_SCORED]
    figures = {"steps": float(len(trial.steps)), "rollouts": float(len(rollouts)), "failed": float(len(failed))}
    if trial.error:
        return Finding(
            "step",
            "error",
            f"after {len(trial.steps)} steps: {trial.error}",
            "fix the cause; checks below that need a finished step did not run",
            figures,
        )
    share = len(failed) / max(len(rollouts), 1)
    found = f"{len(trial.steps)} played and trained, {len(rollouts)} rollouts in {len(trial.groups)} groups"
    if failed:
        return Finding(
            "step",
            grade(share, limits.failed),
            f"{found}; {len(failed)} could not be scored, the first: {failed[0].ending.reason[:200]}",
            "fix the tool or the reward: such rollouts are dropped, and rollouts of hard tasks are dropped first",
            figures,
        )
    return Finding("step", "ok", found, figures=figures)
