"""`handaxe replicate RECIPE ... | --all`: run recipes and what claims compare them with, and decide the claims."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import tyro
from rich.console import Console

from handaxe.commands.jobs import TrainingJob, run_jobs
from handaxe.commands.output import command_line, console, note
from handaxe.commands.sides import Side, job_of, read_side, side
from handaxe.core.errors import InputError
from handaxe.evaluation.claims import Claim, control_of, decide
from handaxe.evaluation.figures import TRAINING, RunFigures
from handaxe.evaluation.replication import Decided, Replication, curve_of
from handaxe.methods.catalog import list_methods
from handaxe.methods.run_spec import spec_of_base
from handaxe.training.record.run_record import RunRecord
from handaxe.view.plots import plot_curves
from handaxe.view.verdicts import verdict_table

__all__ = ["ReplicateOptions", "main", "replicate"]

CURVES = ("training/reward", "training/calls")
EARNED = "training/reward/all"
"""What is earned with what turns earn, which `training/reward`, of outcomes, leaves out."""


@dataclass(frozen=True)
class ReplicateOptions:
    """Decide what recipes claim, by paired runs: the recipe and its baseline with the same seeds in the same setting.

    Runs that are there already are not done again; after Ctrl-C the same command goes on.

    Args:
        recipes: names, or MODULE:ATTRIBUTE of your own.
        all: every recipe that claims something.
        seeds: pairs, 2 or more.
        first_seed: of the pairs; those below are for trying things out.
        at_once: runs at a time, each on one thread; as many as there are processors unless told otherwise.
        options: further options of every run, such as --options="--steps 5 --model smollm2".
        runs: folder of the runs.
        out: folder of the results, a file and a plot for each recipe.
        no_plots: write no plots; they need matplotlib, extra [plots].
    """

    recipes: tyro.conf.Positional[tuple[str, ...]] = ()
    all: bool = False
    seeds: int = 8
    first_seed: int = 100
    at_once: int = 0
    options: str = ""
    runs: Path = Path("runs/replicate")
    out: Path = Path("results")
    no_plots: bool = False


def main(arguments: list[str]) -> int:
    """Replicate; returns the exit code."""
    options = tyro.cli(
        ReplicateOptions, args=arguments, prog="handaxe replicate", config=(tyro.conf.FlagCreatePairsOff,)
    )
    known = [one.name for one in list_methods() if one.page.claims]
    names = known if options.all else list(options.recipes)
    if not names:
        raise InputError(f"which recipes? --all, or some of {', '.join(known)}")
    if options.seeds < 2:
        raise InputError(f"{options.seeds} pairs decide nothing; give --seeds 2 or more")
    terminal, command = console(), command_line(["replicate", *arguments])
    for place, name in enumerate(names):
        found = replicate(
            name, options, command=command, console=terminal, title=f"{place + 1} of {len(names)}: {name}"
        )
        options.out.mkdir(parents=True, exist_ok=True)
        file = options.out / f"{name.replace(':', '.')}.json"
        file.write_text(found.to_json(), encoding="utf-8")
        if not options.no_plots:
            plot_curves(found, file.with_suffix(".png"))
        terminal.print(verdict_table(found))
        note(terminal, "written", str(file))
    return 0


def replicate(name: str, options: ReplicateOptions, *, command: str, console: Console, title: str) -> Replication:
    """Do the runs that are missing, and decide every claim of a recipe.

    Raises:
        InputError: the recipe claims nothing, or a claim's figure is not there.
        HandaxeError: a run failed.
    """
    ours = side(name, options.options)
    claims = ours.chosen.template.page.claims
    if not claims:
        raise InputError(f"recipe {name} claims nothing, so there is nothing to replicate")
    theirs = {claim: _baseline(ours, claim, options.options) for claim in claims if not claim.alone}
    sides = {one.name: one for one in (ours, *theirs.values())}
    seeds = tuple(range(options.first_seed, options.first_seed + options.seeds))
    jobs = {(one.name, seed): job_of(one, seed, options.runs) for seed in seeds for one in sides.values()}
    control = job_of(ours.permuted(), seeds[0], options.runs) if any(claim.needs_control for claim in claims) else None
    wanted: list[TrainingJob] = [*jobs.values(), *([] if control is None else [control])]
    run_jobs(wanted, at_once=options.at_once or len(os.sched_getaffinity(0)), console=console, title=title)
    runs = {one: [read_side(jobs[one, seed].folder) for seed in seeds] for one in sides}
    dealt = None if control is None else read_side(control.folder)
    decided = tuple(_decide(claim, runs, ours.name, theirs.get(claim), dealt) for claim in claims)
    shown: dict[str, set[str]] = {metric: set(sides) for metric in CURVES}
    if any(_earns_by_turn(found) for found in runs.values()):
        shown[EARNED] = set(sides)
    for claim in claims:  # only the sides that it is about need have a figure of the training steps
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
            metric: {one: curve_of(found, _own(metric, found)) for one, found in runs.items() if one in whose}
            for metric, whose in shown.items()
        },
        seconds={one: sum(float(run.spent("seconds")[-1]) for run in found) for one, found in runs.items()},
        silent=_silent([jobs[ours.name, seed].folder for seed in seeds]),
    )


def _earns_by_turn(runs: Sequence[RunFigures]) -> bool:
    name = EARNED.removeprefix(TRAINING)
    return all(any(name in row for row in run.metrics) for run in runs)


def _own(metric: str, runs: Sequence[RunFigures]) -> str:
    """A side whose turns earn nothing has earned its outcomes."""
    return CURVES[0] if metric == EARNED and not _earns_by_turn(runs) else metric


def _silent(folders: Sequence[Path]) -> tuple[str, ...]:
    """The channels that told no two siblings apart in any of these runs."""
    found = []
    for folder in folders:
        with RunRecord.open(folder) as record:
            found.append(set(record.silent_channels()))
    return tuple(sorted(set.intersection(*found)))


def _baseline(ours: Side, claim: Claim, options: str) -> Side:
    """What a claim compares with: the recipe's base in the same setting, or what a command line says."""
    if not claim.baseline:
        return ours.like(spec_of_base(ours.chosen))
    return side(claim.baseline, options, setting_of=ours)


def _decide(
    claim: Claim, runs: dict[str, list[RunFigures]], name: str, theirs: Side | None, control: RunFigures | None
) -> Decided:
    others = [] if theirs is None else runs[theirs.name]
    moved = None
    if control is not None and claim.needs_control:
        moved = control_of(claim, control, others[0] if others else None)
    decision = decide(claim, runs[name], others, control=moved)
    return Decided(claim, decision, claim.baseline if theirs is None else theirs.name, moved)
