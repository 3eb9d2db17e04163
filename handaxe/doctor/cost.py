"""Cost of a step in time and memory, and a forecast for the run."""

from __future__ import annotations

import bisect
import os
import resource
import shutil
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import torch

from handaxe.doctor.finding import THRESHOLDS, Finding, Level, Thresholds, grade
from handaxe.doctor.memory import GIB, MemoryForecast, engine_plan, engine_shape, forecast_memory
from handaxe.engines.local.engine import LocalEngine

__all__ = ["Cost", "check_forecast", "check_memory", "check_time", "count_evaluations"]

CGROUP = Path("/sys/fs/cgroup/memory.max")
PHASES = ("sampling", "reward", "credit", "learning", "update")


class Cost(NamedTuple):
    """Measurements of the trial steps.

    steps        wall-clock seconds of each trial step, record included
    phases       seconds by phase, of each trial step
    groups       groups of a trial step
    run_groups   groups of a step of the run
    evaluation   seconds of a whole evaluation, NaN for no evaluation or an evaluation that cannot be sampled in part
    sampled      rollouts that were played to measure the evaluation, and rollouts of the whole evaluation
    save         seconds to write a checkpoint
    checkpoint   bytes of a checkpoint
    """

    steps: Sequence[float]
    phases: Sequence[Mapping[str, float]]
    groups: int
    run_groups: int
    evaluation: float = float("nan")
    sampled: tuple[int, int] = (0, 0)
    save: float = 0.0
    checkpoint: int = 0


def count_evaluations(steps: int, every: int) -> int:
    """Count the evaluations of a run: before the first step, every `every` steps, and after the last step.

    Example:
        (20, 1000000) -> 2; (20, 8) -> 4; (20, 0) -> 0
    """
    return len({done for done in range(steps + 1) if done % every == 0 or done == steps}) if every else 0


def check_time(cost: Cost, *, steps: int, evaluations: int, checkpoint_every: int, evaluates: bool) -> Finding:
    """Report the seconds of a step by phase, and forecast the seconds of the run:

        steps * mean step * groups of a step / groups of a trial step + evaluations * evaluation + checkpoints * save

    Args:
        cost: measurements of the trial steps.
        steps: of the run.
        evaluations: of the run.
        checkpoint_every: steps between checkpoints.
        evaluates: False for a run without evaluations.
    """
    scale = cost.run_groups / cost.groups
    step = sum(cost.steps) / len(cost.steps) * scale
    checkpoints = -(-steps // checkpoint_every)
    known = cost.evaluation if evaluates and cost.evaluation == cost.evaluation else 0.0
    total = steps * step + evaluations * known + checkpoints * cost.save
    phases = {name: _mean([one.get(name, 0.0) for one in cost.phases]) * scale for name in PHASES}
    figures = {"step": step, "evaluation": cost.evaluation, "save": cost.save, "forecast": total}
    figures |= {f"phase/{name}": value for name, value in phases.items()}
    figures |= {"played": float(len(cost.steps)), "groups": float(cost.groups)}
    how = f"mean of {len(cost.steps)} steps" if len(cost.steps) > 1 else "measured on one step"
    if cost.groups < cost.run_groups:
        how += f" with {cost.groups} of {cost.run_groups} groups, times {scale:.2g}"
    parts = ", ".join(f"{name} {_clock(value)}" for name, value in phases.items() if value >= 0.05 * step)
    found = f"a step takes {_clock(step)} ({how}): {parts}. Forecast {_clock(total)}: {steps} steps"
    level: Level = "ok"
    if evaluates and cost.evaluation != cost.evaluation:
        level, found = "warning", f"{found}; without evaluations, which cannot be sampled in part"
    elif evaluates:
        part = "" if cost.sampled[0] == cost.sampled[1] else f", from {cost.sampled[0]} of {cost.sampled[1]} rollouts"
        found += f", {evaluations} evaluations of {_clock(known)}{part}"
    found += f", {checkpoints} checkpoints of {_clock(cost.save)}"
    return Finding("time", level, found, figures=figures)


def check_memory(
    cost: Cost,
    *,
    device: torch.device | None,
    remote: bool = False,
    checkpoints: int,
    out: Path | None = None,
    limits: Thresholds = THRESHOLDS,
) -> Finding:
    """Grade the peak share of memory in use; check that checkpoints fit on the disk.

    Args:
        cost: measurements of the trial steps.
        device: of the engine. None or a CPU measures the peak of this process; a CUDA device measures the peak of torch
            on the device.
        remote: True for a model on ranks or servers. Their memory is not measured, which gives a warning.
        checkpoints: number of checkpoints on disk, without the one being written.
        out: folder of the run; None: the current folder.
    """
    used, total = _accelerator(device) if device is not None and device.type == "cuda" else _process()
    share = used / total
    place = out or Path.cwd()
    free = shutil.disk_usage(next(one for one in (place, *place.absolute().parents) if one.exists())).free
    disk = cost.checkpoint * (checkpoints + 1)
    figures = {"used": float(used), "total": float(total), "share": share, "disk": float(disk), "free": float(free)}
    level = grade(share, limits.memory)
    part = "" if cost.groups == cost.run_groups else f", with {cost.groups} of {cost.run_groups} groups"
    found = f"peak of {used / GIB:.2f} of {total / GIB:.1f} GiB{part}; {checkpoints} checkpoints and one being "
    found += f"written take {disk / GIB:.2f} GiB of {free / GIB:.1f} GiB of free disk"
    if disk > free:
        return Finding("memory", "error", found, "free some disk, or name another folder: --out", figures)
    if remote and level == "ok":
        remedy = "watch their memory in the first steps: nvidia-smi, or the memory of their processes"
        found = f"in this process {found}; the memory of ranks and servers is not measured"
        return Finding("memory", "warning", found, remedy, figures)
    remedy = "rollouts may grow during training: use smaller groups, fewer rows at a time (--engine.max-rows), shorter "
    remedy += "turns, --engine.gradient-checkpointing or --lora"
    return Finding("memory", level, found, "" if level == "ok" else remedy, figures)


def check_forecast(
    engine: object, *, longest: int, rows: int, sampled_rows: int, reference: bool, limits: Thresholds = THRESHOLDS
) -> list[Finding]:
    """Forecast the memory of a micro-batch of rows as long as the longest so far, and the longest rows that fit.

    Args:
        engine: a `LocalEngine` with a transformers model; no finding for others.
        longest: tokens of the longest row.
        rows: of a micro-batch.
        sampled_rows: rows sampled at a time.
        reference: the method has a reference model.
    """
    shape = engine_shape(engine)
    if shape is None or not isinstance(engine, LocalEngine):
        return []
    total = _accelerator(engine.device)[1] if engine.device.type == "cuda" else _process()[1]

    def forecast(tokens: int) -> MemoryForecast:
        found = engine_plan(engine, tokens=tokens, rows=rows, sampled_rows=sampled_rows, reference=reference)
        return forecast_memory(shape, found)

    at = forecast(longest)
    fitting = (
        bisect.bisect_right(range(engine.max_length + 1), total, key=lambda tokens: int(forecast(tokens).peak)) - 1
    )
    share = at.peak / total
    figures = {name: float(value) for name, value in at._asdict().items()}
    figures |= {"peak": at.peak, "longest": float(longest), "fitting": float(max(fitting, 0)), "share": share}
    found = f"forecast {at.peak / GIB:.2f} GiB for micro-batches of {rows} rows of {longest} tokens: weights "
    found += f"{at.weights / GIB:.2f}, gradients and optimizer {at.optimizer / GIB:.2f}, activations "
    found += f"{at.activations / GIB:.2f}, kept by the C library {at.retained / GIB:.2f}, or KV cache "
    found += f"{at.cache / GIB:.2f}; rows of up to {max(fitting, 0)} tokens fit"
    level = grade(share, limits.memory)
    remedy = "" if level == "ok" else "use --engine.gradient-checkpointing, --lora, --dtype bfloat16 or --quantize 8bit"
    return [Finding("forecast", level, found, remedy, figures)]


def _accelerator(device: torch.device) -> tuple[int, int]:
    return torch.cuda.max_memory_allocated(device), torch.cuda.get_device_properties(device).total_memory


def _process() -> tuple[int, int]:
    """Peak resident bytes of this process, and the limit of the machine or the control group."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with suppress(OSError, ValueError):  # no control group, or a group without limit ("max")
        total = min(total, int(CGROUP.read_text()))
    return peak, total


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _clock(seconds: float) -> str:
    if seconds < 1:
        return f"{1000 * seconds:.0f} ms"
    if seconds < 120:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.1f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
