"""What a step costs in time and memory, and what the run will."""

from __future__ import annotations

import os
import resource
import shutil
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import torch

from handaxe.doctor.finding import THRESHOLDS, Finding, Level, Thresholds, graded

__all__ = ["Cost", "check_memory", "check_time", "evaluations_of"]

CGROUP = Path("/sys/fs/cgroup/memory.max")
GIB = 2**30
PHASES = ("sampling", "reward", "credit", "learning", "update")


class Cost(NamedTuple):
    """What was measured.

    steps        wall seconds of each step that was played, record included
    phases       of each of them, seconds by phase
    groups       of each of them
    of           groups that a step of the run has
    evaluation   seconds of a whole evaluation, NaN where there is none or it cannot be tried in part
    tried        attempts of the evaluation that were played to find that out, and how many it has
    save         seconds to write a checkpoint
    checkpoint   its bytes
    """

    steps: Sequence[float]
    phases: Sequence[Mapping[str, float]]
    groups: int
    of: int
    evaluation: float = float("nan")
    tried: tuple[int, int] = (0, 0)
    save: float = 0.0
    checkpoint: int = 0


def evaluations_of(steps: int, every: int) -> int:
    """How many evaluations a run has: before the first step, every so many, and after the last.

    Example:
        (20, 1000000) -> 2; (20, 8) -> 4; (20, 0) -> 0
    """
    return len({done for done in range(steps + 1) if done % every == 0 or done == steps}) if every else 0


def check_time(cost: Cost, *, steps: int, evaluations: int, checkpoint_every: int, evaluates: bool) -> Finding:
    """What a step takes, phase by phase, and what the run will:

        steps * mean step * groups of a step / groups played + evaluations * evaluation + checkpoints * save

    Args:
        cost: what was measured.
        steps: of the run.
        evaluations: of the run.
        checkpoint_every: steps between checkpoints.
        evaluates: whether the run evaluates at all.
    """
    scale = cost.of / cost.groups
    step = sum(cost.steps) / len(cost.steps) * scale
    checkpoints = -(-steps // checkpoint_every)
    known = cost.evaluation if evaluates and cost.evaluation == cost.evaluation else 0.0
    total = steps * step + evaluations * known + checkpoints * cost.save
    phases = {name: _mean([one.get(name, 0.0) for one in cost.phases]) * scale for name in PHASES}
    figures = {"step": step, "evaluation": cost.evaluation, "save": cost.save, "forecast": total}
    figures |= {f"phase/{name}": value for name, value in phases.items()}
    figures |= {"played": float(len(cost.steps)), "groups": float(cost.groups)}
    how = f"the mean of {len(cost.steps)}" if len(cost.steps) > 1 else "one that was played"
    if cost.groups < cost.of:
        how += f" with {cost.groups} of {cost.of} groups, times {scale:.2g}"
    parts = ", ".join(f"{name} {_clock(value)}" for name, value in phases.items() if value >= 0.05 * step)
    found = f"a step takes {_clock(step)} ({how}): {parts}. Forecast {_clock(total)}: {steps} steps"
    level: Level = "ok"
    if evaluates and cost.evaluation != cost.evaluation:
        level, found = "look", f"{found}; evaluations could not be tried in part and are not in it"
    elif evaluates:
        part = "" if cost.tried[0] == cost.tried[1] else f", from {cost.tried[0]} of {cost.tried[1]} attempts"
        found += f", {evaluations} evaluations of {_clock(known)}{part}"
    found += f", {checkpoints} checkpoints of {_clock(cost.save)}"
    return Finding("time", level, found, figures=figures)


def check_memory(
    cost: Cost,
    *,
    device: torch.device | None,
    elsewhere: bool = False,
    checkpoints: int,
    out: Path | None = None,
    limits: Thresholds = THRESHOLDS,
) -> Finding:
    """How much memory there was in use at its height, of what there is; and whether checkpoints fit on the disk.

    Args:
        cost: what was measured.
        device: of the engine; None or a CPU reads the most that this process held, a CUDA device the most that torch
            held there.
        elsewhere: whether the model is on ranks or servers, whose memory is not seen: that is then to look at.
        checkpoints: how many are kept, besides the one being written.
        out: where the run goes; None looks at the folder of now.
    """
    used, there = _accelerator(device) if device is not None and device.type == "cuda" else _process()
    share = used / there
    place = out or Path.cwd()
    free = shutil.disk_usage(next(one for one in (place, *place.absolute().parents) if one.exists())).free
    disk = cost.checkpoint * (checkpoints + 1)
    figures = {"used": float(used), "there": float(there), "share": share, "disk": float(disk), "free": float(free)}
    level = graded(share, limits.memory)
    part = "" if cost.groups == cost.of else f", with {cost.groups} of {cost.of} groups"
    found = f"{used / GIB:.2f} of {there / GIB:.1f} GiB at its height{part}; {checkpoints} checkpoints and one being "
    found += f"written take {disk / GIB:.2f} GiB of {free / GIB:.1f} GiB of disk"
    if disk > free:
        return Finding("memory", "wrong", found, "free some disk, or name another folder: --out", figures)
    if elsewhere and level == "ok":
        remedy = "watch them in the first steps: nvidia-smi, or the memory of their processes"
        return Finding("memory", "look", f"in this process {found}; ranks and servers are not seen", remedy, figures)
    remedy = "attempts grow while a policy learns: smaller groups, fewer rows at a time (--engine.max-rows), shorter "
    remedy += "turns, --engine.checkpointing or --lora"
    return Finding("memory", level, found, "" if level == "ok" else remedy, figures)


def _accelerator(device: torch.device) -> tuple[int, int]:
    return torch.cuda.max_memory_allocated(device), torch.cuda.get_device_properties(device).total_memory


def _process() -> tuple[int, int]:
    """The most bytes that this process ever held, and those that it may."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with suppress(OSError, ValueError):  # there is no such group, or it says "max"
        there = min(there, int(CGROUP.read_text()))
    return peak, there


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _clock(seconds: float) -> str:
    if seconds < 1:
        return f"{1000 * seconds:.0f} ms"
    if seconds < 120:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.1f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
