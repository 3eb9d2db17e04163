"""`handaxe compare A B ...`: train several methods with equal seeds and settings, and compare metrics."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tyro

from handaxe.commands.jobs import run_jobs
from handaxe.commands.output import check_writable, console, note, write_json
from handaxe.commands.sides import check_sides, make_job, read_run, side, split_options
from handaxe.core.errors import InputError
from handaxe.evaluation.claim_figures import PairedFigures, pair_figures
from handaxe.evaluation.claims import Claim
from handaxe.evaluation.paired_estimates import paired_estimates
from handaxe.view.verdicts import side_table

__all__ = ["CompareOptions", "main"]


@dataclass(frozen=True)
class CompareOptions:
    """Train several methods with equal seeds, and compare each with the first, pair by pair.

    A side is a method, with its own options in quotes. Options of `handaxe train` after the sides apply to every run:
    handaxe compare grpo "dapo --rounds 2" otc --steps 10. World and settings of the first side apply to all. Finished
    runs are reused while code and files that they read are unchanged.

    Args:
        sides: two or more.
        metrics: metrics of the last evaluation, or training/NAME.
        seeds: number of pairs, 2 or more.
        first_seed: of the pairs.
        jobs: number of parallel runs, each with one thread; by default one per processor.
        runs: folder of the runs.
        json: write the figures to this file.
    """

    sides: tyro.conf.Positional[tuple[str, ...]]
    metrics: tuple[str, ...] = ("pass@1", "calls", "tokens")
    seeds: int = 4
    first_seed: int = 0
    jobs: int = 0
    runs: Path = Path("runs/compare")
    json: Path | None = None


def main(arguments: list[str]) -> int:
    """Compare; returns the exit code."""
    own, of_runs = split_options(arguments, CompareOptions)
    options = tyro.cli(CompareOptions, args=own, prog="handaxe compare")
    if len(options.sides) < 2 or len(set(options.sides)) < len(options.sides) or options.seeds < 2:
        raise InputError(f"{len(options.sides)} sides and {options.seeds} seeds; give 2 or more of each, no side twice")
    check_sides(options.sides, of_runs)
    check_writable(options.json)
    first = side(options.sides[0], of_runs)
    sides = [first, *(side(words, of_runs, like=first) for words in options.sides[1:])]
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    jobs = {(one.name, seed): make_job(one, seed, options.runs) for seed in seeds for one in sides}
    terminal = console()
    at_once = options.jobs or len(os.sched_getaffinity(0))
    run_jobs(list(jobs.values()), at_once=at_once, console=terminal, title="comparing")
    runs = {one.name: [read_run(jobs[one.name, seed].folder) for seed in seeds] for one in sides}
    found: dict[str, dict[str, PairedFigures]] = {}
    for metric in options.metrics:
        claim = Claim("", metric, "up")
        found[metric] = {one.name: pair_figures(claim, runs[one.name], runs[first.name]) for one in sides}
    terminal.print(side_table(found, first.name))
    note(terminal, "runs", str(options.runs))
    body = {metric: {name: _body(one) for name, one in by.items()} for metric, by in found.items()}
    write_json(options.json, {"seeds": list(seeds), "sides": {s.name: s.arguments() for s in sides}, "metrics": body})
    return 0


def _body(one: PairedFigures) -> dict[str, Any]:
    """The figures of a side, with interquartile mean and probability of a higher value."""
    estimates = paired_estimates(one)
    return {**one._asdict(), **({} if estimates is None else estimates.to_json())}
