"""`handaxe replicate METHOD ... | --all`: run methods and the baselines of claims in pairs, and decide the claims."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import tyro
from rich.console import Console

from handaxe.commands.deferred import DeferredModule
from handaxe.commands.jobs import TrainingJob, run_jobs
from handaxe.commands.output import checkout, command_line, console, note
from handaxe.commands.sides import Side, check_method_names, make_job, read_run, side, split_options
from handaxe.core.errors import InputError
from handaxe.evaluation.claim_figures import measure_claim
from handaxe.evaluation.claims import Claim
from handaxe.evaluation.decide import control_pairs
from handaxe.evaluation.figures import TRAINING, RunFigures
from handaxe.evaluation.replication import DecidedClaim, Replication, mean_curve
from handaxe.methods.catalog import find_method, list_methods
from handaxe.methods.run_spec import base_spec
from handaxe.training.record.run_record import RunRecord
from handaxe.view.verdicts import verdict_table

if TYPE_CHECKING:
    import handaxe.view.plots as plots
else:
    plots = DeferredModule("handaxe.view.plots")

__all__ = ["ReplicateOptions", "main", "replicate", "result_file"]

RESULTS = Path("results")
CURVES = ("training/reward", "training/calls")
EARNED = "training/reward/all"
"""Reward with turn rewards; `training/reward` is the reward of outcomes alone."""


@dataclass(frozen=True)
class ReplicateOptions:
    """Decide the claims of methods by paired runs: method and baseline with equal seeds and settings.

    Options of `handaxe train` after the methods apply to every run: handaxe replicate otc --steps 5 --model smollm2.

    Finished runs are reused; after Ctrl-C the same command continues. In a checkout, the result of a method of handaxe
    goes into the folder of the method (result.json, or result_NAME.json for a further method of the folder), unless
    such options change the runs. Any other result goes to results/NAME.json.

    Args:
        methods: names, or MODULE:ATTRIBUTE of your own.
        all: every method with claims.
        seeds: number of pairs, 2 or more.
        first_seed: of the pairs; use lower seeds for development.
        at_once: number of parallel runs, each with one thread; by default one per processor.
        runs: folder of the runs.
        out: write every result to this folder as NAME.json.
        plots: also draw the curves of each method into this folder as NAME.png; needs matplotlib, extra [plots].
    """

    methods: tyro.conf.Positional[tuple[str, ...]] = ()
    all: bool = False
    seeds: int = 8
    first_seed: int = 100
    at_once: int = 0
    runs: Path = Path("runs/replicate")
    out: Path | None = None
    plots: Path | None = None


def main(arguments: list[str]) -> int:
    """Replicate; returns the exit code."""
    own, of_runs = split_options(arguments, ReplicateOptions)
    options = tyro.cli(ReplicateOptions, args=own, prog="handaxe replicate", config=(tyro.conf.FlagCreatePairsOff,))
    known = [one.name for one in list_methods() if one.page.claims]
    names = known if options.all else list(options.methods)
    if not names:
        raise InputError(f"the methods are missing: give --all, or some of {', '.join(known)}")
    if options.seeds < 2:
        raise InputError(f"--seeds is {options.seeds}; give 2 or more")
    check_method_names(names)
    terminal, command = console(), command_line(["replicate", *arguments])
    for place, name in enumerate(names):
        found = replicate(
            name, options, of_runs, command=command, console=terminal, title=f"{place + 1} of {len(names)}: {name}"
        )
        file = result_file(name, options, of_runs)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(found.to_json(), encoding="utf-8")
        terminal.print(verdict_table(found))
        note(terminal, "written", str(file))
        if options.plots is not None:
            options.plots.mkdir(parents=True, exist_ok=True)
            plots.plot_curves(found, options.plots / f"{name.replace(':', '.')}.png")
    return 0


def result_file(name: str, options: ReplicateOptions, of_runs: Sequence[str] = ()) -> Path:
    """File of the result of a method, with options of `train` in `of_runs`; see `ReplicateOptions`."""
    listed, root = find_method(name), checkout()
    ours = listed is not None and root is not None and listed.file.is_relative_to(root / "handaxe")
    if options.out is None and not of_runs and listed is not None and ours:
        return listed.result_file
    return (options.out or RESULTS) / f"{name.replace(':', '.')}.json"


def replicate(
    name: str, options: ReplicateOptions, of_runs: Sequence[str], *, command: str, console: Console, title: str
) -> Replication:
    """Run the missing runs, and decide every claim of a method.

    Args:
        name: of the method.
        options: of the command.
        of_runs: options of `train` for every run.
        command, console, title: shown, and stored with the result.

    Raises:
        InputError: the method has no claims, a metric of a claim is missing, or an option ends runs early.
        HandaxeError: a run failed.
    """
    ours = side(name, of_runs)
    if ours.spec.settings.stop_when or ours.spec.settings.patience:
        raise InputError("claims compare runs of equal length: leave --stop-when and --patience out")
    claims = ours.spec.template.page.claims
    if not claims:
        raise InputError(f"method {name} has no claims to replicate")
    theirs = {claim: _baseline(ours, claim, of_runs) for claim in claims if not claim.alone}
    sides = {one.name: one for one in (ours, *theirs.values())}
    seeds = tuple(range(options.first_seed, options.first_seed + options.seeds))
    jobs = {(one.name, seed): make_job(one, seed, options.runs) for seed in seeds for one in sides.values()}
    permuted = seeds[: control_pairs(len(seeds))] if any(claim.needs_control for claim in claims) else ()
    controls = [make_job(ours.permuted(), seed, options.runs) for seed in permuted]
    wanted: list[TrainingJob] = [*jobs.values(), *controls]
    run_jobs(wanted, at_once=options.at_once or len(os.sched_getaffinity(0)), console=console, title=title)
    runs = {one: [read_run(jobs[one, seed].folder) for seed in seeds] for one in sides}
    control_runs = [read_run(job.folder) for job in controls]
    decided = tuple(_decide(claim, runs, ours.name, theirs.get(claim), control_runs) for claim in claims)
    shown: dict[str, set[str]] = {metric: set(sides) for metric in CURVES}
    if any(_has_turn_rewards(found) for found in runs.values()):
        shown[EARNED] = set(sides)
    for claim in claims:  # a training metric of a claim may be missing on other sides
        if claim.metric.startswith("training/"):
            shown.setdefault(claim.metric, set()).update(one.name for one in (ours, theirs.get(claim)) if one)
    return Replication(
        method=name,
        command=command,
        version=ours.version,
        seeds=seeds,
        claims=decided,
        arguments=ours.arguments(),
        baselines={one.name: one.arguments() for one in theirs.values()},
        curves={
            metric: {one: mean_curve(found, _metric_of(metric, found)) for one, found in runs.items() if one in names}
            for metric, names in shown.items()
        },
        seconds={one: sum(float(run.spent("seconds")[-1]) for run in found) for one, found in runs.items()},
        silent=_silent([jobs[ours.name, seed].folder for seed in seeds]),
    )


def _has_turn_rewards(runs: Sequence[RunFigures]) -> bool:
    name = EARNED.removeprefix(TRAINING)
    return all(any(name in row for row in run.metrics) for run in runs)


def _metric_of(metric: str, runs: Sequence[RunFigures]) -> str:
    """The metric of a side. A side without turn rewards has the reward of outcomes in place of EARNED."""
    return CURVES[0] if metric == EARNED and not _has_turn_rewards(runs) else metric


def _silent(folders: Sequence[Path]) -> tuple[str, ...]:
    """Channels with equal values for all siblings of every group, in every run."""
    found = []
    for folder in folders:
        with RunRecord.open(folder) as record:
            found.append(set(record.silent_channels()))
    return tuple(sorted(set.intersection(*found)))


def _baseline(ours: Side, claim: Claim, options: Sequence[str]) -> Side:
    """The baseline of a claim: the base with equal settings, or the method and options that the claim names."""
    if not claim.baseline:
        return ours.of(base_spec(ours.spec))
    return side(claim.baseline, options, like=ours)


def _decide(
    claim: Claim,
    runs: dict[str, list[RunFigures]],
    name: str,
    theirs: Side | None,
    control_runs: Sequence[RunFigures],
) -> DecidedClaim:
    baseline = [] if theirs is None else runs[theirs.name]
    control = control_runs if claim.needs_control else ()
    figures = measure_claim(claim, runs[name], baseline, control=control)
    return DecidedClaim.of(claim, figures, claim.baseline if theirs is None else theirs.name)
