"""Exports found rollouts as a file: JSON lines, a zipped folder for the package datasets, or an Inspect log."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Literal, get_args

from handaxe.core.errors import InputError
from handaxe.view.exports.chosen import chosen, has_images
from handaxe.view.exports.dataset import write_dataset
from handaxe.view.exports.inspect_log import write_inspect
from handaxe.view.exports.jsonl import write_jsonl
from handaxe.view.record_search import Where
from handaxe.view.runs import ViewedRun, printable_name

__all__ = ["ExportKind", "export_file"]

ExportKind = Literal["jsonl", "datasets", "inspect"]
MOST = 20_000
"""Limit of exported rollouts: other queries wait for an export."""
LONGEST_NAME = 50
"""Characters of a file name, before the ending."""


def export_file(run: ViewedRun, where: Where, kind: str, folder: Path) -> Path:
    """Write the found rollouts, sorted by step.

    Args:
        run: the run.
        where: query.
        kind: one of `ExportKind`.
        folder: empty folder for the file.

    Returns:
        The file.

    Raises:
        InputError: the kind does not exist, no or too many rollouts were found, or a package is missing.
    """
    if kind not in get_args(ExportKind):
        raise InputError(f"there is no export {kind!r}; there are {', '.join(get_args(ExportKind))}")
    rows = run.rows.chosen(where)
    if not rows:
        raise InputError("the search found no rollout to export; change the search")
    if len(rows) > MOST:
        raise InputError(f"{len(rows)} rollouts are more than {MOST}: narrow the search, or use handaxe trajectories")
    name = printable_name(run.folder.resolve().name)[:LONGEST_NAME] or "run"
    found = chosen(run.record, rows)
    if kind == "jsonl":
        file = folder / f"{name}.jsonl"
        write_jsonl(found, file)
        return file
    if kind == "inspect":
        file = folder / f"{name}.eval"
        write_inspect(found, file, title=run.name)
        return file
    write_dataset(found, folder / name, images=has_images(run.record, rows))
    return Path(shutil.make_archive(str(folder / f"{name}-dataset"), "zip", folder, name))
