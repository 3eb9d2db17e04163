"""Finds the result files of `handaxe replicate` and `handaxe compare` in a folder."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from handaxe.core.errors import InputError
from handaxe.evaluation.replication import Replication
from handaxe.ops.nested_values import MAX_NESTING, exceeds_depth
from handaxe.training.record.regular_file import read_regular
from handaxe.view.runs import INSIDE, printable_name

__all__ = ["find_results"]

LARGEST = 5_000_000
"""Size limit of a file in bytes."""
KEYS = ((b'"claims"', b'"curves"'), (b'"seeds"', b'"sides"', b'"metrics"'))
"""Keys of a replication and of a comparison, by which a damaged result is distinguished from other JSON."""


class _Pairs(BaseModel):
    ours: list[float | None]
    theirs: list[float | None]
    difference: float | None
    low: float | None
    high: float | None


class _Comparison(BaseModel):
    """Parts of a comparison that the page shows."""

    seeds: list[int]
    sides: dict[str, Any]
    metrics: dict[str, dict[str, _Pairs]]


class _Decision(BaseModel):
    verdict: str
    why: str
    paired: _Pairs


class _Claim(BaseModel):
    claim: dict[str, Any]
    decision: _Decision
    baseline: str


class _Replication(BaseModel):
    """Parts of a replication that the page shows; `Replication.from_json` checks the rest."""

    seeds: list[int]
    claims: list[_Claim]
    curves: dict[str, dict[str, dict[str, list[float | None]]]]
    command: str
    version: str


def find_results(folder: Path) -> list[dict[str, Any]]:
    """List the results in a folder, sorted by path. Skips files of runs, and links to folders.

    Returns:
        Per result: "name", the path from the folder; "kind", replication, comparison or damaged; "body", the JSON of
        the file, or the error of a damaged file.
    """
    found = []
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(one for one in folders if one not in INSIDE and not one.startswith("."))
        if "record.sqlite" in files:
            files = []
        for file in sorted(files):
            path = Path(place) / file
            if path.suffix == ".json" and (read := _read(path, folder)) is not None:
                name = printable_name(path.relative_to(folder).as_posix())
                found.append({"name": name, "kind": read[0], "body": read[1]})
    return found


def _read(path: Path, root: Path) -> tuple[str, Any] | None:
    """Kind and body of a result file; None for another file."""
    try:
        if path.is_file() and path.stat().st_size > LARGEST:
            return None
        content = read_regular(path, limit=LARGEST, root=root)
    except InputError as error:
        return "damaged", str(error)
    except OSError:
        return None
    if not any(all(key in content for key in keys) for keys in KEYS):
        return None
    try:
        text = content.decode()
        body = json.loads(text)
        if exceeds_depth(body, MAX_NESTING):
            raise InputError(f"it nests deeper than {MAX_NESTING} levels")
        if not isinstance(body, dict):
            return None
        if set(body) == {"seeds", "sides", "metrics"}:
            _Comparison.model_validate(body, strict=True)
            return "comparison", body
        if "claims" not in body or "curves" not in body:
            return None
        _Replication.model_validate(body, strict=True)
        Replication.from_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        return "damaged", f"{printable_name(path.name)}: {'.'.join(map(str, first['loc']))}: {first['msg']}"
    except (ValueError, RecursionError) as error:
        return "damaged", f"{printable_name(path.name)}: {error}"
    return "replication", body
