"""`handaxe compare A B ...`: train several recipes with the same seeds in the same setting, and say what differs."""

import os
from dataclasses import dataclass
from pathlib import Path

import tyro

from handaxe.commands.jobs import run_jobs
from handaxe.commands.output import check_writable, console, note, write_json
from handaxe.commands.sides import job_of, read_side, side
from handaxe.core.errors import InputError
from handaxe.evaluation.claims import Claim, Paired, paired_of
from handaxe.view.verdicts import side_table

__all__ = ["CompareOptions", "main"]


@dataclass(frozen=True)
class CompareOptions:
    """Train recipes side by side. Each is compared with the first, pair by pair.

    A side is a recipe and its options in quotes: handaxe compare grpo "dapo --rounds 2" otc --options="--steps 10".
    The world and the settings are those of the first.

    Args:
        sides: two or more.
        metrics: figures at the end of a run, as evaluation reports them, or training/NAME.
        seeds: pairs, 2 or more.
        first_seed: of the pairs.
        at_once: runs at a time, each on one thread; as many as there are processors unless told otherwise.
        options: further options of every run, such as --options="--steps 5".
        runs: folder of the runs.
        json: write the figures to this file.
    """

    sides: tyro.conf.Positional[tuple[str, ...]]
    metrics: tuple[str, ...] = ("pass@1", "calls", "tokens")
    seeds: int = 4
    first_seed: int = 0
    at_once: int = 0
    options: str = ""
    runs: Path = Path("runs/compare")
    json: Path | None = None


def main(arguments: list[str]) -> int:
    """Compare; returns the exit code."""
    options = tyro.cli(CompareOptions, args=arguments, prog="handaxe compare")
    if len(options.sides) < 2 or len(set(options.sides)) < len(options.sides) or options.seeds < 2:
        raise InputError(f"{len(options.sides)} sides and {options.seeds} seeds; give 2 or more of each, all different")
    check_writable(options.json)
    first = side(options.sides[0], options.options)
    sides = [first, *(side(words, options.options, setting_of=first) for words in options.sides[1:])]
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    jobs = {(one.name, seed): job_of(one, seed, options.runs) for seed in seeds for one in sides}
    terminal = console()
    at_once = options.at_once or len(os.sched_getaffinity(0))
    run_jobs(list(jobs.values()), at_once=at_once, console=terminal, title="comparing")
    runs = {one.name: [read_side(jobs[one.name, seed].folder) for seed in seeds] for one in sides}
    found: dict[str, dict[str, Paired]] = {}
    for metric in options.metrics:
        claim = Claim("", metric, "up")
        found[metric] = {one.name: paired_of(claim, runs[one.name], runs[first.name]) for one in sides}
    terminal.print(side_table(found, first.name))
    note(terminal, "runs", str(options.runs))
    body = {metric: {name: one._asdict() for name, one in by.items()} for metric, by in found.items()}
    write_json(options.json, {"seeds": list(seeds), "sides": {s.name: s.arguments() for s in sides}, "metrics": body})
    return 0
