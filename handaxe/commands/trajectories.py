"""`handaxe trajectories RUN`: search rollouts of a run, and export them for other programs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

import tyro
from rich.box import SIMPLE
from rich.console import Console

from handaxe.commands.output import command_line, console, note, write_json
from handaxe.commands.selection import find_id
from handaxe.core.errors import HandaxeError, InputError
from handaxe.core.model_api import ImageProcessor
from handaxe.models.load import load_format
from handaxe.training.record.run_record import RunRecord
from handaxe.view.escape_markup import escaped_text
from handaxe.view.exports.chosen import chosen, has_images
from handaxe.view.exports.dataset import write_dataset
from handaxe.view.exports.inspect_log import write_inspect
from handaxe.view.exports.jsonl import write_jsonl
from handaxe.view.fitted_table import FittedTable
from handaxe.view.parse_where import parse_where
from handaxe.view.record_search import FoundRow, Where, count, search

__all__ = ["TrajectoriesOptions", "main"]

LISTED = 20
"""Number of listed rollouts without --out."""


@dataclass(frozen=True)
class TrajectoriesOptions:
    """Search rollouts of a run by actions, text and score, and export them for other programs.

    Steps and samples count from 1; the files of --to and --json count from 0.

    Args:
        run: folder of the run.
        where: query, such as 'step:3..9 outcome:incorrect tool:search score:<=0.5 "a phrase"'; by default all
            rollouts. Also fate:, task:, trained:yes. See docs/trajectories.md.
        order: sort key; by default the step.
        descending: sort in descending order.
        most: limit of rollouts; 0 for no limit, or for 20 without --out.
        to: jsonl (one line per rollout, complete), dataset (a folder for the package datasets, extra [datasets]) or
            inspect (a log for `inspect view`, extra [inspect]).
        out: file to write, for dataset a folder; by default the rollouts are listed.
        json: write a row per rollout to this file.
        images: with jsonl, folder for the images, each once; by default the images are in the lines.
    """

    run: tyro.conf.Positional[Path]
    where: str = ""
    order: str = "step"
    descending: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    most: int = 0
    to: Literal["jsonl", "dataset", "inspect"] = "jsonl"
    out: Path | None = None
    json: Path | None = None
    images: Path | None = None


def main(arguments: list[str]) -> int:
    """Search, and list or export; returns the exit code."""
    options = tyro.cli(TrajectoriesOptions, args=arguments, prog="handaxe trajectories")
    if options.most < 0:
        raise InputError(f"--most is {options.most}; give 1 or more, or 0 for all rollouts")
    given, terminal = parse_where(options.where), console()
    with RunRecord.open(options.run) as record:
        where = _from_zero(given, record)
        total = count(record, where)
        most = options.most or (LISTED if options.out is None else total)
        found = search(record, where, order=options.order, descending=options.descending, most=most)
        if options.out is None:
            _list(found, total, options, terminal)
        else:
            _write(record, found, options, options.out)
            note(terminal, "written", f"{len(found)} of {total} to {options.out}")
            if options.to == "inspect":
                note(terminal, "view", f"inspect view --log-dir {options.out.parent}")
    write_json(options.json, {"total": total, "found": [one._asdict() for one in found]})
    return 0


def _from_zero(where: Where, record: RunRecord) -> Where:
    """The query in the counts of the record, with the whole id of the task.

    Raises:
        InputError: a step below 1, or no task or several tasks start with the id.
    """
    if any(bound is not None and bound < 1 for bound in where.step):
        raise InputError("steps count from 1: give step:1 for the first")
    low, high = (None if bound is None else bound - 1 for bound in where.step)
    task = where.task
    if task:
        ids = [str(one) for (one,) in record.query("SELECT DISTINCT task_id FROM groups ORDER BY task_id")]
        task = find_id(task, ids, noun="task", place="in this run")
    return replace(where, step=(low, high), task=task)


def _write(record: RunRecord, found: Sequence[FoundRow], options: TrajectoriesOptions, out: Path) -> None:
    keys = [one.key for one in found]
    wanted = chosen(record, keys)
    if options.images is not None and options.to != "jsonl":
        raise InputError(f"--images is for --to jsonl; --to {options.to} holds its images: leave --images out")
    if options.to == "dataset":
        write_dataset(wanted, out, images=has_images(record, keys))
    elif options.to == "inspect":
        write_inspect(wanted, out, title=options.run.resolve().name)
    else:
        processor = _processor(options.run) if has_images(record, keys) else None
        write_jsonl(wanted, out, images=options.images, processor=processor)


def _processor(run: Path) -> ImageProcessor | None:
    """Image processor of the run's policy; None if the run has no chat format that can be read here."""
    try:
        return getattr(load_format(run), "image_processor", None)
    except HandaxeError:
        return None


def _list(found: Sequence[FoundRow], total: int, options: TrajectoriesOptions, terminal: Console) -> None:
    table = FittedTable(box=SIMPLE, header_style="bright_black", title=f"{len(found)} of {total}", title_justify="left")
    for name in ("step", "task", "sample", "outcome", "score", "calls", "tokens", "group", "final text"):
        table.add_column(name, justify="left" if name in ("task", "outcome", "group", "final text") else "right")
    for one in found:
        score = "" if one.score != one.score else f"{one.score:.3f}"
        numbers = [str(one.calls), str(one.tokens)]
        text = escaped_text(one.final_text, max_chars=60)
        table.add_row(
            str(one.step + 1),
            escaped_text(one.task, max_chars=40),
            str(one.sample + 1),
            one.outcome,
            score,
            *numbers,
            one.fate,
            text,
        )
    terminal.print(table)
    note(terminal, "show", command_line(["show", str(options.run)]) + " --step STEP --task TASK --sample SAMPLE")
    note(terminal, "write", command_line(["trajectories", str(options.run)]) + " --to inspect --out FILE.eval")
