"""The results files under a folder: what `handaxe replicate` and `handaxe compare` wrote, as they are."""

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
"""Bytes of a file that is looked into."""
COMPARED = {"seeds", "sides", "metrics"}


def find_results(folder: Path) -> list[dict[str, Any]]:
    """The results in a folder, by their path from it; a run's own files are not looked into.

    Returns:
        For each "name", "kind" ("replication" or "comparison") and "body", the file's JSON.
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
    """What kind of results a file holds, and its body; None when it holds none."""
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
