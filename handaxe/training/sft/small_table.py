"""Held-out success of the small policy and of the tiny policy's starts, by world: a table of docs/models.md.

    python -m handaxe.training.sft.small_table --model small --starts --page docs/models.md

Every policy plays the same tasks at temperature 1, one rollout a task. Rows are stored after each world, so that the
same command continues a killed one.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import tyro

from handaxe.core.errors import InputError
from handaxe.core.records import Group, Sampling
from handaxe.core.requests import Attempt
from handaxe.engines.local.engine import LocalEngine
from handaxe.models.chat_formats.pieces import Pieces
from handaxe.models.load import Policy, load
from handaxe.ops.seeds import derive_seed
from handaxe.rewards.parts.scoring import score_group
from handaxe.rollouts import driver
from handaxe.training.sft.cold_start import start_policy
from handaxe.training.sft.small_mixture import LESSONS, SETTINGS, Setting
from handaxe.worlds.world import World

__all__ = ["NEW", "held_out_success", "small_table", "write_table"]

NEW = (
    Setting("facts", "handaxe.papers.ikea.facts:facts"),
    Setting("twenty_questions", "handaxe.papers.archer.twenty_questions:twenty_questions"),
)
"""Worlds that are not in the mixture."""
BYTES = 480
"""Most bytes of a turn; a policy of pieces gets PIECES ids."""
PIECES = 200
CORRECT = 0.5
"""An outcome above this is correct."""
BEGIN, END = "<!-- worlds of the small policy -->\n", "<!-- end -->\n"


def small_table(
    *,
    model: str = "small",
    out: Path,
    page: Path | None = None,
    tasks: int = 80,
    starts: bool = False,
    only: tuple[str, ...] = (),
    seed: int = 0,
) -> dict[str, dict[str, float]]:
    """Measure the success of a policy in every world of its mixture, and in new ones.

    Args:
        model: name or folder.
        out: JSON file of the rows; measured rows are kept.
        page: page with the two marks of the table; None writes no page.
        tasks: held-out tasks of a world.
        starts: also train and measure the tiny policy's start of each world with one, which takes minutes a world.
        only: names of settings; default: all.
        seed: of tools and sampling.

    Returns:
        Name of the setting -> {"small": share, "seconds": time, "tiny start": share, if measured}.

    Raises:
        InputError: a world's extra is missing, or the page has no marks.
    """
    rows: dict[str, dict[str, float]] = json.loads(out.read_text()) if out.exists() else {}
    policy = load(model)
    for setting in (*SETTINGS, *NEW):
        if setting.name in LESSONS or (only and setting.name not in only):
            continue
        world, row = setting.make(), rows.setdefault(setting.name, {})
        if "small" not in row:
            begun = time.monotonic()
            row["small"] = held_out_success(world, policy, tasks=tasks, seed=seed)
            row["seconds"] = time.monotonic() - begun
        if starts and world.start is not None and "tiny start" not in row:
            row["tiny start"] = held_out_success(world, start_policy(world), tasks=tasks, seed=seed)
        print(json.dumps({"name": setting.name, **row}), flush=True)
        out.write_text(json.dumps(rows, indent=1) + "\n")
    if page is not None:
        write_table(page, rows, tasks=tasks)
    return rows


def held_out_success(world: World, policy: Policy, *, tasks: int, seed: int = 0) -> float:
    """Return the share of held-out tasks with a correct answer, one rollout a task at temperature 1."""
    engine = LocalEngine(policy.model, max_rows=32)
    most = PIECES if isinstance(policy.format, Pieces) else BYTES
    attempts = [
        Attempt(
            task=task,
            env=world.env(world.tools),
            format=policy.format,
            sampling=Sampling(max_tokens=most),
            id=task.id,
            sample=0,
            seed=derive_seed("held out", seed, task.id),
            context=engine.max_length,
        )
        for task in world.tasks("test", tasks, 0)
    ]
    played = driver.run(attempts, world.make_rollout(world.start_turns), engine)
    scores = [
        score_group(world.correct, Group(attempt.task, tuple(tried)))[1] for attempt, tried in zip(attempts, played)
    ]
    return sum(bool(one.outcome[0] > CORRECT) for one in scores) / len(scores)


def write_table(page: Path, rows: Mapping[str, Mapping[str, float]], *, tasks: int) -> None:
    """Write the table between the marks of a page.

    Raises:
        InputError: the page has no marks.
    """
    text = page.read_text()
    if BEGIN not in text or END not in text:
        raise InputError(f"{page} has no place for the table: add the lines {BEGIN.strip()} and {END.strip()}")
    new = {one.name for one in NEW}
    lines = ["| world | `small` | `tiny`'s start | |\n|---|---|---|---|\n"]
    for name, row in rows.items():
        lines.append(f"| {name} | {_share(row, 'small')} | {_share(row, 'tiny start')} | {_note(row, name in new)} |\n")
    head = f"Share of {tasks} held-out tasks, or of all where a world has fewer, with a correct answer.\n\n"
    before, after = text.split(BEGIN)[0], text.split(END, 1)[1]
    page.write_text(f"{before}{BEGIN}\n{head}{''.join(lines)}\n{END}{after}")


def _share(row: Mapping[str, float], name: str) -> str:
    return f"{row[name]:.2f}" if name in row else ""


def _note(row: Mapping[str, float], new: bool) -> str:
    notes: Sequence[str] = ["not in the mixture"] if new else []
    if "tiny start" in row and row["small"] < row["tiny start"]:
        notes = [*notes, "the start is better"]
    return ", ".join(notes)


if __name__ == "__main__":
    tyro.cli(small_table)
