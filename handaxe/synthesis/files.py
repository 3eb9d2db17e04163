"""Files of a synthesis.

    tasks.jsonl        a task a line, for `--world jsonl`
    provenance.jsonl   a line a step and draft: what became of the draft, who was asked, and tokens
    card.json          counts and reasons by step, cost, versions, seed and splits

No file has a time of day or a duration, so that equal runs have equal files.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import handaxe
from handaxe.core.errors import InputError
from handaxe.synthesis.draft import SynthesisDraft
from handaxe.synthesis.step import StepRound
from handaxe.synthesis.task_drafts import draft_task, task_row
from handaxe.worlds.parts.row_tasks import row_split

__all__ = ["CARD", "PROVENANCE", "TASKS", "read_card", "write_files"]

TASKS = "tasks.jsonl"
PROVENANCE = "provenance.jsonl"
CARD = "card.json"
TEST_SHARE = 0.2
"""Default share of held-out questions of the world `jsonl`."""


def write_files(
    out: Path, drafts: Sequence[SynthesisDraft], units: Sequence[StepRound], *, about: Mapping[str, Any]
) -> dict[str, Any]:
    """Write the files of a run, each at once.

    Args:
        out: folder.
        drafts: kept ones; those of kind "task" are written as tasks.
        units: steps of all rounds.
        about: first entries of the card.

    Returns:
        The card.
    """
    tasks = [one for one in drafts if one.kind == "task"]
    card = {**about, "handaxe": handaxe.__version__, "tasks": len(tasks), **_counts(units), "splits": _splits(tasks)}
    _write(out / PROVENANCE, (json.dumps(line) for unit in units for line in _provenance(unit)))
    _write(out / TASKS, (json.dumps(task_row(one)) for one in tasks))
    _write(out / CARD, [json.dumps(card, indent=1)])
    return card


def read_card(folder: Path) -> dict[str, Any]:
    """Read the card of a run.

    Raises:
        InputError: there is none, or it cannot be read.
    """
    try:
        found = json.loads((folder / CARD).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{folder} has no {CARD} of a finished synthesis: {error}") from error
    if not isinstance(found, dict) or not isinstance(found.get("steps"), list):
        raise InputError(f"{folder / CARD} is no card of a synthesis")
    return found


def _counts(units: Sequence[StepRound]) -> dict[str, Any]:
    steps = dict[str, dict[str, Any]]()
    roles = dict[str, Counter[str]]()
    for unit in units:
        fresh = {"version": unit.step.version, "settings": dict(unit.step.settings), "in": 0, "out": 0, "reasons": {}}
        row = steps.setdefault(unit.step.name, {"name": unit.step.name, **fresh})
        row["in"] += len(unit.drafts)
        row["out"] += len(unit.kept)
        for outcome in unit.outcomes:
            if outcome.reason:
                row["reasons"][outcome.reason] = row["reasons"].get(outcome.reason, 0) + 1
            for one in outcome.asked:
                spent = roles.setdefault(str(one["role"]), Counter())
                spent.update(asks=1, failures=bool(one["failure"]))
                spent.update({name: one[name] for name in ("read", "written", "cost")})
    for row in steps.values():
        row["reasons"] = dict(sorted(row["reasons"].items()))
    rounds = 1 + max((unit.round for unit in units), default=-1)
    cost = {role: dict(sorted(spent.items())) for role, spent in sorted(roles.items())}
    return {"rounds": rounds, "steps": list(steps.values()), "cost": cost}


def _splits(tasks: Sequence[SynthesisDraft]) -> dict[str, int]:
    found = Counter(row_split(draft_task(one), TEST_SHARE) for one in tasks)
    return {"train": found["train"], "test": found["test"]}


def _provenance(unit: StepRound) -> Iterable[dict[str, Any]]:
    for draft, outcome in zip(unit.drafts, unit.outcomes, strict=True):
        yield {
            "round": unit.round,
            "step": unit.step.name,
            "version": unit.step.version,
            "draft": draft.id,
            "kind": draft.kind,
            "parents": list(draft.parents),
            "kept": [one.id for one in outcome.kept],
            "reason": outcome.reason,
            "notes": [dict(one.notes) for one in outcome.kept],
            "asked": [dict(one) for one in outcome.asked],
        }


def _write(path: Path, lines: Iterable[str]) -> None:
    """Write a file under another name first: a killed process leaves the old file or the new file."""
    half = path.with_suffix(".part")
    with half.open("w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines)
    os.replace(half, path)
