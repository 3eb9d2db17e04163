"""Trains what was chosen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from handaxe.core.errors import InputError
from handaxe.core.protocols import Engine, Stage, StageContext
from handaxe.methods.build import build, make_method, make_world
from handaxe.methods.evaluator import HeldOut
from handaxe.methods.hardware import HERE, Machines, closing_engine
from handaxe.methods.method import Method
from handaxe.methods.run_spec import RunSpec
from handaxe.ops.seeds import derive_seed
from handaxe.training.loop.config import RunConfig
from handaxe.training.loop.run import TrainResult
from handaxe.training.loop.train import train
from handaxe.training.record.run_record import RunRecord
from handaxe.training.stages.context import make_site
from handaxe.training.stages.run_stages import run_stages

__all__ = ["run"]

ROLES = ("engine", "format", "env", "tasks", "rollout", "reward", "seed")


def run(chosen: RunSpec, keep: RunConfig, *, machines: Machines = HERE) -> TrainResult:
    """Train what was chosen, its method's stages first, in OUT/stages, and those that close it last, in
    OUT/closing-STEPS: a run that is made longer goes on from what they left, and does them again.

    Args:
        chosen: recipe, base, world, engine, setting and their options.
        keep: where the run goes, and what is shown of it.
        machines: where it computes; it may be resumed on others.

    Raises:
        InputError: something named is not there, or does not fit; the folder is in use.
    """
    method = make_method(chosen, make_world(chosen))
    # Made once, since a stage and a role of the loop may hold the same judge.
    made = build(chosen, method=method, progress=keep.progress, machines=machines)
    with closing_engine(made["engine"]):
        return _run(method, made, keep)


def _run(method: Method, made: dict[str, Any], keep: RunConfig) -> TrainResult:
    site = make_site(
        **{name: made[name] for name in ROLES},
        sampling=made["evaluate"].sampling,
        out=None if keep.out is None else keep.out / "stages",
        resume=keep.resume,
        progress=keep.progress,
    )
    if method.closing:
        out = None if keep.out is None else keep.out / f"closing-{made['steps']:06d}"
        last = site._replace(seed=derive_seed(site.seed, "closing"), out=out, resume=out is not None)
        made["evaluate"] = _Closing(made["evaluate"], made["steps"], method.closing, last)
    if not (method.stages or method.shared):
        return train(**made, keep=keep)
    if keep.out is not None:
        _begin(keep.out, keep.resume, keep.recipe)
    if stopped := run_stages(method.stages, site, shared=method.shared).stopped:
        return TrainResult([], keep.out, stopped)
    return train(**made, keep=replace(keep, resume=keep.out is not None))


def _begin(out: Path, resume: bool, recipe: Mapping[str, Any] | None) -> None:
    """Say in a run's folder what it is of, before its first stage: so that it can be resumed from there on."""
    if not resume and RunRecord.begun(out):
        raise InputError(f"there is a run in {out} already: resume it, or name another folder")
    about = {"recipe": recipe, "arguments": {}}
    with RunRecord(out, about=about) as record:
        record.write_about(about)


@dataclass(frozen=True)
class _Closing:
    """Runs the stages that close a run, and then the last evaluation: it and the last checkpoint are of what they left.
    A run that is killed in one of them is resumed in two parts: the steps since its checkpoint are done again, and the
    stage goes on from a checkpoint of its own."""

    evaluate: HeldOut
    steps: int
    stages: tuple[Stage, ...]
    site: StageContext

    def __call__(self, engine: Engine, steps_done: int) -> dict[str, Any]:
        if steps_done == self.steps and run_stages(self.stages, self.site).stopped:
            raise KeyboardInterrupt
        return self.evaluate(engine, steps_done)

    def watched(self, progress: Callable[[int, int], None]) -> _Closing:
        """The same, whose evaluation tells how far it is."""
        return replace(self, evaluate=self.evaluate.watched(progress))
