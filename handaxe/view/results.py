"""Finds the result files of `handaxe replicate` and `handaxe compare` in a folder."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from handaxe.core.errors import InputError
from handaxe.evaluation.replication import Replication
from handaxe.view.runs import INSIDE

__all__ = ["find_results"]

LARGEST = 5_000_000
"""Size limit of a file in bytes."""
COMPARED = {"seeds", "sides", "metrics"}


def find_results(folder: Path) -> list[dict[str, Any]]:
    """List the results in a folder, sorted by path. Skips files of runs.

    Returns:
        Per result: "name", the path from the folder; "kind", replication or comparison; "body", the JSON of the file.
    """
    found = []
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(one for one in folders if one not in INSIDE and not one.startswith("."))
        if "record.sqlite" in files:
            files = []
        for file in sorted(files):
            path = Path(place) / file
            if path.suffix == ".json" and (read := _read(path)) is not None:
                found.append({"name": path.relative_to(folder).as_posix(), "kind": read[0], "body": read[1]})
    return found


def _read(path: Path) -> tuple[str, Any] | None:
    """Kind and body of a result file; None for another file."""
    try:
        if path.stat().st_size > LARGEST:
            return None
        text = path.read_text(encoding="utf-8")
        body = json.loads(text)
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(body, dict):
        return None
    if set(body) == COMPARED and isinstance(body["metrics"], dict):
        return "comparison", body
    if "claims" not in body or "curves" not in body:
        return None
    try:
        Replication.from_json(text)
    except InputError:
        return None
    return "replication", body
