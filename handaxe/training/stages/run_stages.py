"""Sequential execution of stages, each in a separate folder; seed-independent stages are cached for all runs.

OUT/stages.json      names of the stages
OUT/metrics.json     metrics of the finished stages, by name; see stage_metrics
OUT/00-teach/        record and checkpoints of the first
OUT/01-reinforce/    ... of the second
CACHE/stages/DIGEST/ results of shared stages
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from handaxe.core.deferred import torch
from handaxe.core.errors import CheckpointError, InputError
from handaxe.core.protocols import Restarts, Stage, StageContext
from handaxe.ops.cache_path import cache_path, content_digest
from handaxe.ops.process_lock import process_lock
from handaxe.ops.seeds import derive_seed
from handaxe.training.loop.interrupt import Interrupt
from handaxe.training.record.folder import FolderLock, write_atomic
from handaxe.training.record.run_progress import has_stage_progress
from handaxe.training.record.value_fingerprint import code_version, fingerprint
from handaxe.training.stages.context import make_site

__all__ = ["StagesResult", "run_stages", "stage_metrics"]

METRICS = "metrics.json"
NAMES = "stages.json"
WHY = "it is shared by runs of all seeds, which have their own: give it to the stage itself"


class StagesResult(NamedTuple):
    """Result of stages.

    metrics   metrics of each stage's steps, by the name of its folder; partial for a stopped stage
    path      OUT, None without a folder
    stopped   "" after all stages, "interrupted" after Ctrl-C
    """

    metrics: dict[str, list[dict[str, float]]]
    path: Path | None
    stopped: str = ""


def run_stages(stages: Sequence[Stage], site: StageContext, *, shared: Sequence[Stage] | None = None) -> StagesResult:
    """Run stages; with `site.resume`, continue from the folder.

    Stage k draws from a seed derived from the run's and k. On resume, a finished stage only loads its last checkpoint,
    so kill and resume at any instant give bitwise equal weights if each stage does (see `RunConfig.resume`).

    Args:
        stages: in order, each on the policy of the previous one.
        site: context of the stages; each has a separate seed and folder.
        shared: stages before them that use only the context's engine and chat format. They run once per
            policy, arguments, code version and torch version, and are cached (HANDAXE_CACHE or ~/.cache/handaxe);
            every run that begins with them, of any method and seed, loads the same weights and restarts. Safe for
            concurrent processes.

    Returns:
        The metrics of all stages, and the reason of a stop.

    Raises:
        InputError: a run exists in the folder already, or another process writes there; a shared stage uses the
            context's roles, or holds a value without a fingerprint.
        CheckpointError: on resume, the folder belongs to other stages.
    """
    before = list(shared or ())
    names = [f"{k:02d}-{_name(one)}" for k, one in enumerate((*before, *stages))]
    metrics: dict[str, list[dict[str, float]]] = {}
    with ExitStack() as stack:
        if site.out is not None:
            site.out.mkdir(parents=True, exist_ok=True)
            stack.enter_context(FolderLock(site.out))
            _claim(site.out, names, site.resume)
        interrupt = stack.enter_context(Interrupt())
        try:
            if before:
                metrics |= _share(before, names[: len(before)], site)
                _write_metrics(site.out, metrics)
            for k, stage in list(enumerate((*before, *stages)))[len(before) :]:
                out = None if site.out is None else site.out / names[k]
                here = site._replace(seed=derive_seed(site.seed, "stage", k), out=out)
                metrics[names[k]] = stage(here)
                if interrupt.requested:
                    break
                _write_metrics(site.out, metrics)
        except KeyboardInterrupt:
            if not interrupt.requested:
                raise
    return StagesResult(metrics, site.out, "interrupted" if interrupt.requested else "")


def stage_metrics(run: Path) -> dict[str, list[dict[str, float]]]:
    """Read the metrics of all finished stages of a run: of OUT/stages, and of the last closing stages.

    Returns:
        Rows by the name of the stage without its number, outer folders first. Stages of a repetition have their own
        name beside the name of the repetition. {} for a run without stages.

    Example:
        stages 00-repeat (00-prefer, 01-prefer) and 01-teach -> names repeat, prefer with the rows of both, and teach
    """
    found: dict[str, list[dict[str, float]]] = {}
    for top in [run / "stages", *sorted(run.glob("closing-*"))[-1:]]:
        for file in sorted(top.rglob(METRICS), key=lambda file: (len(file.parts), file.parts)):
            if (file.parent / NAMES).is_file():
                for name, rows in json.loads(file.read_text(encoding="utf-8")).items():
                    found.setdefault(name.partition("-")[2], []).extend(rows)
    return found


def _write_metrics(out: Path | None, metrics: dict[str, list[dict[str, float]]]) -> None:
    if out is not None:
        write_atomic(out / METRICS, json.dumps(metrics) + "\n")


def _name(stage: Stage) -> str:
    """Name of the stage's factory."""
    found = getattr(stage, "__qualname__", type(stage).__qualname__).split(".")[0]
    return found.strip("_<>") or "stage"


def _claim(out: Path, names: list[str], resume: bool) -> None:
    """Write the stage names into a folder, or check that the folder has the same ones."""
    file = out / NAMES
    if not resume and has_stage_progress(out):
        raise InputError(f"there are stages in {out} already: resume to go on with them, or name another folder")
    if resume and file.exists():
        try:
            found = json.loads(file.read_text())["stages"]
        except (ValueError, KeyError, TypeError) as error:
            raise CheckpointError(f"{file} is damaged: {error!r}. Start again in another folder") from error
        if found != names:
            raise CheckpointError(f"{out} was begun with the stages {found}, not {names}. Use another folder")
        return
    write_atomic(file, json.dumps({"stages": names}, indent=1) + "\n")


def _share(stages: list[Stage], names: list[str], site: StageContext) -> dict[str, list[dict[str, float]]]:
    """Load the weights of shared stages into the engine, running the stages if they are not cached."""
    engine = site.engine
    if not isinstance(engine, Restarts):
        raise InputError(
            f"{type(engine).__name__} cannot share stages: it lacks restart, start_digest and load_weights; see "
            "core.protocols.Restarts"
        )
    kind = type(site.format)
    start = [code_version(), engine.start_digest(), f"{kind.__module__}.{kind.__qualname__}", *names]
    arguments = [part for k, one in enumerate(stages) for part in fingerprint(one, names[k])]
    folder = cache_path("stages", content_digest([*start, *arguments]))
    if not folder.exists():
        with process_lock(folder.with_suffix(".lock")) as locked:
            if not folder.exists():
                _make(
                    stages, names, site, folder, work=folder.with_suffix(".work" if locked else f".work-{os.getpid()}")
                )
    engine.load_weights(folder / "engine")
    if site.out is not None:
        (site.out / "shared.json").write_text(json.dumps({"folder": str(folder), "stages": names}, indent=1) + "\n")
    found: dict[str, list[dict[str, float]]] = json.loads((folder / METRICS).read_text())
    return found


def _make(stages: list[Stage], names: list[str], site: StageContext, folder: Path, *, work: Path) -> None:
    """Run shared stages in a temporary folder and rename it at the end; a killed run is resumed."""
    metrics = {}
    with torch.random.fork_rng():
        for k, stage in enumerate(stages):
            here = make_site(engine=site.engine, format=site.format, seed=derive_seed("shared", k), why=WHY)
            here = here._replace(out=work / names[k], resume=True, progress=site.progress)
            with Interrupt() as interrupt:
                metrics[names[k]] = stage(here)
            if interrupt.requested:
                raise KeyboardInterrupt
        site.engine.save(work / "engine")
    (work / METRICS).write_text(json.dumps(metrics) + "\n")
    os.replace(work, folder)
