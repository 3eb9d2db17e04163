"""`handaxe trajectories RUN`: find attempts of a run, and write them for other programs."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from handaxe.commands.output import command_line, console, note, write_json
from handaxe.core.errors import InputError
from handaxe.training.record.run_record import RunRecord
from handaxe.view.escape import plain
from handaxe.view.exports.chosen import chosen
from handaxe.view.exports.dataset import write_dataset
from handaxe.view.exports.inspect_log import write_inspect
from handaxe.view.exports.jsonl import write_jsonl
from handaxe.view.parse_where import parse_where
from handaxe.view.search import FoundRow, count, search

__all__ = ["TrajectoriesOptions", "main"]

LISTED = 20
"""Attempts that are listed where nothing is written."""


@dataclass(frozen=True)
class TrajectoriesOptions:
    """Find attempts of a run by what they did, said and earned, and write them for other programs.

    Args:
        run: folder of the run.
        where: what is looked for, such as 'step:3..9 outcome:wrong tool:search score:<=0.5 "a phrase"'; all of them
            unless told otherwise. Also fate:, task:, trained:yes. See docs/trajectories.md.
        order: by what they are sorted; the step unless told otherwise.
        descending: the largest first.
        most: how many at most; 0 for all of them, or 20 where they are only listed.
        to: jsonl (a line each, all of it), dataset (a folder for the package datasets, extra [datasets]) or inspect (a
            log for `inspect view`, extra [inspect]).
        out: the file, or for dataset the folder, to write; they are listed unless told.
        json: write what was found to this file, a row each.
    """

    run: tyro.conf.Positional[Path]
    where: str = ""
    order: str = "step"
    descending: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    most: int = 0
    to: Literal["jsonl", "dataset", "inspect"] = "jsonl"
    out: Path | None = None
    json: Path | None = None


def main(arguments: list[str]) -> int:
    """Find, and list or write; returns the exit code."""
    options = tyro.cli(TrajectoriesOptions, args=arguments, prog="handaxe trajectories")
    if options.most < 0:
        raise InputError(f"--most is {options.most}; give 1 or more, or 0 for all of them")
    where, terminal = parse_where(options.where), console()
    with RunRecord.open(options.run) as record:
        there = count(record, where)
        most = options.most or (LISTED if options.out is None else there)
        found = search(record, where, order=options.order, descending=options.descending, most=most)
        if options.out is None:
            _list(found, there, options, terminal)
        else:
            _write(record, found, options, options.out)
            note(terminal, "written", f"{len(found)} of {there} to {options.out}")
            if options.to == "inspect":
                note(terminal, "look", f"inspect view --log-dir {options.out.parent}")
    write_json(options.json, {"there": there, "found": [one._asdict() for one in found]})
    return 0


def _write(record: RunRecord, found: Sequence[FoundRow], options: TrajectoriesOptions, out: Path) -> None:
    wanted = chosen(record, [one.key for one in found])
    if options.to == "dataset":
        write_dataset(wanted, out)
    elif options.to == "inspect":
        write_inspect(wanted, out, title=options.run.resolve().name)
    else:
        write_jsonl(wanted, out)


def _list(found: Sequence[FoundRow], there: int, options: TrajectoriesOptions, terminal: Console) -> None:
    table = Table(box=SIMPLE, header_style="bright_black", title=f"{len(found)} of {there}", title_justify="left")
    for name in ("step", "task", "sample", "outcome", "score", "calls", "tokens", "group", "said last"):
        table.add_column(name, justify="left" if name in ("task", "outcome", "group", "said last") else "right")
    for one in found:
        score = "" if one.score != one.score else f"{one.score:.3f}"
        numbers = [str(one.calls), str(one.tokens)]
        said = plain(one.final_text, room=60)
        table.add_row(
            str(one.step), plain(one.task, room=40), str(one.sample), one.outcome, score, *numbers, one.fate, said
        )
    terminal.print(table)
    note(terminal, "look", command_line(["show", str(options.run)]) + " --step STEP --task TASK --sample SAMPLE")
    note(terminal, "write", command_line(["trajectories", str(options.run)]) + " --to inspect --out FILE.eval")
