"""Trains the run of a `RunSpec`: stages, training loop, closing stages."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from handaxe.core.errors import InputError
from handaxe.core.protocols import Engine, Stage, StageContext
from handaxe.methods.build import build, make_method, make_world, missing_tools
from handaxe.methods.evaluator import HeldOutEvaluator
from handaxe.methods.hardware import THIS_PROCESS, Machines, closing_engine
from handaxe.methods.judge_source import RULE
from handaxe.methods.method import Method
from handaxe.methods.named_curriculum import ignored_order
from handaxe.methods.run_folder import recorded_sources
from handaxe.methods.run_sources import record_sources
from handaxe.methods.run_spec import RunSpec
from handaxe.methods.run_stop import check_closing
from handaxe.ops.seeds import derive_seed
from handaxe.training.loop.config import RunConfig
from handaxe.training.loop.run import TrainResult
from handaxe.training.loop.train import train
from handaxe.training.record.run_progress import has_progress
from handaxe.training.record.run_record import RunRecord
from handaxe.training.stages.context import make_site
from handaxe.training.stages.run_stages import run_stages
from handaxe.worlds.world import World

__all__ = ["run", "run_built"]

ROLES = ("engine", "format", "env", "tasks", "rollout", "reward", "seed")


def run(spec: RunSpec, keep: RunConfig, *, machines: Machines = THIS_PROCESS) -> TrainResult:
    """Train a run: the method's stages in OUT/stages, the training loop, the closing stages in OUT/closing-STEPS.

    A run that is extended continues from the weights of its closing stages, and runs them again at its new end.

    Args:
        spec: method, base, world, engine, settings and their options.
        keep: folder and progress of the run.
        machines: processes that compute; a run may be resumed on others.

    Raises:
        InputError: a named object does not exist, an option does not fit, or the folder is in use.
    """
    world = make_world(spec)
    method = make_method(spec, world)
    if missing := missing_tools(spec.settings.tools, world):
        print(f"warning: {missing}", file=sys.stderr)
    if ignored := ignored_order(spec, method, world):
        print(f"warning: {ignored}", file=sys.stderr)
    if spec.settings.judge != RULE and not method.judge.asked:
        print(
            f"warning: method {spec.name} asks no judge, so --judge {spec.settings.judge} is ignored", file=sys.stderr
        )
    check_closing(spec.settings, method)
    # One method for both: a stage and a role of the loop may share an object, such as a judge that learns.
    made = build(spec, method=method, progress=keep.progress, machines=machines)
    if keep.out is not None:
        method.judge.open(keep.out)
    with closing_engine(made["engine"]):
        return run_built(method, made, _with_sources(keep, spec, world))


def _with_sources(keep: RunConfig, spec: RunSpec, world: World) -> RunConfig:
    """The configuration with the sources of the run in its recipe; files that the world read are copied."""
    if keep.out is None or keep.recipe is None:
        return keep
    arguments = {"method": spec.name, **spec.arguments()}
    before = recorded_sources(keep.out) if keep.resume else {}
    sources = record_sources(arguments, world.files, keep.out, images=world.images, earlier=before)
    return replace(keep, recipe={**keep.recipe, "sources": sources})


def run_built(method: Method, made: dict[str, Any], keep: RunConfig) -> TrainResult:
    """Train a built run: stages, training loop, closing stages.

    Args:
        method: supplies the stages.
        made: of `build` with the same method.
        keep: as in `run`.
    """
    evaluation, aux_policies = made["run"].evaluation, made["run"].aux_policies
    site = make_site(
        **{name: made[name] for name in ROLES},
        sampling=evaluation.evaluate.sampling,
        out=None if keep.out is None else keep.out / "stages",
        resume=keep.resume,
        progress=keep.progress,
    )
    if method.closing:
        out = None if keep.out is None else keep.out / f"closing-{made['steps']:06d}"
        last = site._replace(seed=derive_seed(site.seed, "closing"), out=out, resume=out is not None)
        evaluation = replace(evaluation, evaluate=_Closing(evaluation.evaluate, made["steps"], method.closing, last))
    keep = replace(keep, evaluation=evaluation, stop=made["run"].stop, aux_policies=aux_policies)
    if not (method.stages or method.shared):
        return train(**{**made, "run": keep})
    if keep.out is not None:
        _begin(keep.out, keep.resume, keep.recipe)
    if stopped := run_stages(method.stages, site, shared=method.shared).stopped:
        return TrainResult([], keep.out, stopped)
    return train(**{**made, "run": replace(keep, resume=keep.out is not None)})


def _begin(out: Path, resume: bool, recipe: Mapping[str, Any] | None) -> None:
    """Write recipe.json before the first stage, to make the run resumable from a stage."""
    if not resume and has_progress(out):
        raise InputError(f"there is a run in {out} already: resume it, or name another folder")
    about = {"recipe": recipe, "arguments": {}}
    with RunRecord(out, about=about) as record:
        record.write_about(about)


@dataclass(frozen=True)
class _Closing:
    """Runs the closing stages before the last evaluation; evaluation and last checkpoint then have the final weights.

    A run killed in a closing stage is resumed in two parts: the training steps since the last checkpoint are repeated,
    and the stage continues from its own checkpoint.
    """

    evaluate: HeldOutEvaluator
    steps: int
    stages: tuple[Stage, ...]
    site: StageContext

    def __call__(self, engine: Engine, steps_done: int) -> dict[str, Any]:
        if steps_done == self.steps and run_stages(self.stages, self.site).stopped:
            raise KeyboardInterrupt
        return self.evaluate(engine, steps_done)

    def watched(self, progress: Callable[[int, int], None]) -> _Closing:
        """Return a copy with progress reports of the evaluation."""
        return replace(self, evaluate=self.evaluate.watched(progress))
