"""Runs stages one after the other, each in a folder of its own; those that no seed changes are done once for all runs.

OUT/stages.json      which they are
OUT/00-teach/        record and checkpoints of the first
OUT/01-reinforce/    ... of the second
CACHE/stages/DIGEST/ what shared stages came to
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import torch

from handaxe.core.errors import CheckpointError, InputError
from handaxe.core.protocols import Restarts, Stage, StageContext
from handaxe.ops.cache_path import cache_path, content_digest
from handaxe.ops.seeds import derive_seed
from handaxe.training.loop.interrupt import Interrupt
from handaxe.training.record.fingerprint import code_version, fingerprint
from handaxe.training.record.folder import FolderLock, write_whole
from handaxe.training.stages.context import make_site

try:
    import fcntl
except ImportError:  # not on Windows, where two processes at once do the same work twice
    fcntl = None  # type: ignore[assignment]

__all__ = ["StagesResult", "run_stages"]

WHY = "it is shared by runs of all seeds, which have their own: give it to the stage itself"


class StagesResult(NamedTuple):
    """What stages came to.

    metrics   those of each of a stage's steps, by the name of its folder; of a stage that was stopped, so far
    path      OUT, None when nothing was kept
    stopped   "" when every stage was done, "interrupted" after Ctrl-C
    """

    metrics: dict[str, list[dict[str, float]]]
    path: Path | None
    stopped: str = ""


def run_stages(stages: Sequence[Stage], site: StageContext, *, shared: Sequence[Stage] | None = None) -> StagesResult:
    """Run stages; with `site.resume`, go on with what is there.

    Stage k draws from a seed derived from the run's and k. A stage that is done is not done again on resume: it loads
    its last checkpoint, so that kill and resume at any instant come to the same weights, to the bit, as long as each
    stage by itself does (see `Keep.resume`).

    Args:
        stages: one after the other, each on the policy that the one before left.
        site: what they are given; each has a seed and a folder of its own.
        shared: stages before them that see no more of the site than its engine and chat format. They are done once for
            a policy, their arguments, the version of the code and of torch, and kept in the cache folder (HANDAXE_CACHE
            or ~/.cache/handaxe); every run that begins with them, of whatever recipe and seed, takes the same weights,
            and restarts. Two processes may ask for them at once.

    Returns:
        The metrics of all, and whether Ctrl-C stopped them.

    Raises:
        InputError: there is a run in the folder already, or another process writes there; a shared stage uses the
            site's roles, or is made of something that cannot be told apart.
        CheckpointError: on resume, other stages than those that the folder was begun with.
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
            for k, stage in list(enumerate((*before, *stages)))[len(before) :]:
                out = None if site.out is None else site.out / names[k]
                here = site._replace(seed=derive_seed(site.seed, "stage", k), out=out)
                metrics[names[k]] = stage(here)
                if interrupt.requested:
                    break
        except KeyboardInterrupt:
            if not interrupt.requested:
                raise
    return StagesResult(metrics, site.out, "interrupted" if interrupt.requested else "")


def _name(stage: Stage) -> str:
    """The name of the factory that made it."""
    found = getattr(stage, "__qualname__", type(stage).__qualname__).split(".")[0]
    return found.strip("_<>") or "stage"


def _claim(out: Path, names: list[str], resume: bool) -> None:
    """Write which stages a folder is of, or see that it is of the same."""
    file = out / "stages.json"
    if file.exists():
        if not resume:
            raise InputError(f"there are stages in {out} already: resume to go on with them, or name another folder")
        try:
            found = json.loads(file.read_text())["stages"]
        except (ValueError, KeyError, TypeError) as error:
            raise CheckpointError(f"{file} is damaged: {error!r}. Start anew in another folder") from error
        if found != names:
            raise CheckpointError(f"{out} was begun with the stages {found}, not {names}. Start anew in another folder")
        return
    write_whole(file, json.dumps({"stages": names}, indent=1) + "\n")


def _share(stages: list[Stage], names: list[str], site: StageContext) -> dict[str, list[dict[str, float]]]:
    """Give the engine the weights that these stages come to, doing them where no process has."""
    engine = site.engine
    if not isinstance(engine, Restarts):
        raise InputError(
            f"{type(engine).__name__} cannot share stages: it lacks restart, start_digest and load_weights; see "
            "slots.Restarts"
        )
    kind = type(site.format)
    start = [code_version(), engine.start_digest(), f"{kind.__module__}.{kind.__qualname__}", *names]
    arguments = [part for k, one in enumerate(stages) for part in fingerprint(one, names[k])]
    folder = cache_path("stages", content_digest([*start, *arguments]))
    if not folder.exists():
        with _alone(folder.with_suffix(".lock")):
            if not folder.exists():
                _make(stages, names, site, folder)
    engine.load_weights(folder / "engine")
    if site.out is not None:
        (site.out / "shared.json").write_text(json.dumps({"folder": str(folder), "stages": names}, indent=1) + "\n")
    found: dict[str, list[dict[str, float]]] = json.loads((folder / "metrics.json").read_text())
    return found


def _make(stages: list[Stage], names: list[str], site: StageContext, folder: Path) -> None:
    """Do shared stages in a folder beside, which gets its name when all of it is there; killed, they are resumed."""
    work = folder.with_suffix(".work" if fcntl else f".work-{os.getpid()}")
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
    (work / "metrics.json").write_text(json.dumps(metrics) + "\n")
    os.replace(work, folder)


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """Wait until no other process holds this lock; the system lets go of it when a process dies."""
    with lock.open("w") as file:
        if fcntl:
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
