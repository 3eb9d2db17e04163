"""Plays and trains a step or two just as the run would, and leaves everything as it was."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from handaxe.core.endings import NEVER_SCORED
from handaxe.core.protocols import Engine, Learner
from handaxe.core.records import STOPPED, Trajectory
from handaxe.doctor.finding import THRESHOLDS, Finding, Thresholds, graded
from handaxe.training.loop.config import RunConfig
from handaxe.training.loop.learners import begin_all
from handaxe.training.loop.rate import rewinder
from handaxe.training.loop.train import train
from handaxe.training.record.groups import GroupRecord
from handaxe.training.record.run_record import RunRecord

__all__ = ["Kept", "Played", "check_played", "play_steps", "unchanged"]


@dataclass
class Kept:
    """What keeping the engine took: seconds of writing it once, and its bytes."""

    seconds: float = 0.0
    bytes: int = 0


@dataclass
class Played:
    """Steps that were played.

    steps      what each left of its groups
    metrics    of each
    walls      seconds of each from the end of the one before, record included
    error      what ended them early, "" for nothing
    """

    steps: list[list[GroupRecord]] = field(default_factory=list)
    metrics: list[dict[str, float]] = field(default_factory=list)
    walls: list[float] = field(default_factory=list)
    error: str = ""

    @property
    def groups(self) -> list[GroupRecord]:
        """Of all steps."""
        return [one for step in self.steps for one in step]

    @property
    def attempts(self) -> list[Trajectory]:
        """Of all groups; what was stopped as no longer wanted is left out."""
        return [one for group in self.groups for one in group.group if one.ending != STOPPED]


class _Stopwatch:
    """A logger that notes when each step was over."""

    def __init__(self) -> None:
        self.marks = [time.perf_counter()]

    def __call__(self, step: int, metrics: Mapping[str, float]) -> None:
        self.marks.append(time.perf_counter())

    def close(self) -> None:
        """There is nothing to close."""


@contextmanager
def unchanged(engine: Engine, learners: Sequence[Learner], parts: Sequence[object]) -> Iterator[Kept]:
    """Put engine, learners and every part that keeps state back, in the end, to where they are now.

    Args:
        engine: saved to a folder that is removed again, and loaded from there.
        learners: those that begin as a copy of the policy do so first.
        parts: those that are `slots.Stateful` are put back.
    """
    begin_all(learners, engine)
    rewinds = [rewinder(part) for part in (*learners, *parts)]
    kept = Kept()
    with TemporaryDirectory(prefix="handaxe-doctor-") as folder:
        begun, place = time.perf_counter(), Path(folder) / "engine"
        engine.save(place)
        kept.seconds = time.perf_counter() - begun
        kept.bytes = sum(file.stat().st_size for file in place.rglob("*") if file.is_file())
        try:
            yield kept
        finally:
            engine.load(place)
            for rewind in rewinds:
                rewind()


def play_steps(arguments: Mapping[str, Any], *, steps: int, groups: int) -> Played:
    """Train so many steps of so many groups in a folder that is removed again; everything else as in `arguments`.

    Whatever a step raises ends them, and is told in `Played.error`: finding that out is what this is for.

    Args:
        arguments: of `train`.
        steps, groups: in the place of the run's own.

    Raises:
        KeyboardInterrupt: when a step was stopped.
    """
    watch, found = _Stopwatch(), Played()
    with TemporaryDirectory(prefix="handaxe-doctor-") as folder:
        out = Path(folder) / "run"
        keep = RunConfig(out=out, progress=False, loggers=(watch,), checkpoint_every=steps + 1, checkpoints=1)
        own = {"steps": steps, "groups": groups, "evaluate": None, "eval_every": 0, "keep": keep}
        try:
            if train(**{**arguments, **own}).stopped:
                raise KeyboardInterrupt
        except Exception as error:
            cause = error.__cause__ if error.__cause__ is not None else error
            found.error = f"{type(error).__name__}: {cause}"
        if RunRecord.begun(out):
            with RunRecord.open(out) as record:
                found.steps = [record.groups(step=step) for step in record.steps()]
                found.metrics = record.metrics()
    found.walls = [after - before for before, after in zip(watch.marks, watch.marks[1:])]
    return found


def check_played(played: Played, *, limits: Thresholds = THRESHOLDS) -> Finding:
    """Whether a step can be played and trained at all, and how many attempts failed for no fault of the policy."""
    attempts = played.attempts
    failed = [one for one in attempts if one.ending.kind in NEVER_SCORED]
    figures = {"steps": float(len(played.steps)), "attempts": float(len(attempts)), "failed": float(len(failed))}
    if played.error:
        return Finding(
            "step",
            "wrong",
            f"after {len(played.steps)} steps: {played.error}",
            "mend what it says; what needs a step that was played is not checked below",
            figures,
        )
    share = len(failed) / max(len(attempts), 1)
    found = f"{len(played.steps)} played and trained, {len(attempts)} attempts in {len(played.groups)} groups"
    if failed:
        return Finding(
            "step",
            graded(share, limits.failed),
            f"{found}; {len(failed)} could not be scored, the first: {failed[0].ending.reason[:200]}",
            "mend the tool or the reward: such attempts are left out, and what is hard is left out first",
            figures,
        )
    return Finding("step", "ok", found, figures=figures)
