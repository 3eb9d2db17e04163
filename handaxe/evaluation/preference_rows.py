"""Bench of a user's file: a prompt, a chosen answer and rejected answers a line."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from handaxe.core.errors import TaskError
from handaxe.core.records import Criterion, Message, Task, Trajectory
from handaxe.evaluation.bench_items import BenchItem, answer_item, pair_item
from handaxe.evaluation.scenes import FORMAT
from handaxe.ops.seeds import derive_seed
from handaxe.training.sft.scripted import trajectory_from_messages
from handaxe.worlds.parts.chat_rows import chat_messages
from handaxe.worlds.parts.file_rows import FileRow, raise_faults, read_rows
from handaxe.worlds.world import Split

__all__ = ["PreferenceRow", "answer_rollout", "preference_items", "preference_rows"]

CRITERION = Criterion("answer", "the answer is correct and does what the task asks")
PARTS = 2
"""Half of the prompts teach a judge that learns, the other half measure."""


class PreferenceRow(NamedTuple):
    """A line: prompt as one text, answers with the chosen one first, and half of the prompt."""

    prompt: str
    answers: tuple[str, ...]
    half: Split


def preference_rows(file: str) -> list[PreferenceRow]:
    """Read lines {"prompt": TEXT or messages, "chosen": TEXT, "rejected": TEXT or [TEXT, ...]}; see `file_rows`.

    Messages become one text, a line "ROLE: TEXT" each. Equal rejected texts count once. A digest of the prompt puts
    each line into one of two halves.

    Raises:
        TaskError: the file is missing, empty or of another kind; or a line lacks a key, has another form, or has a
            rejected text that equals the chosen one. One error lists all bad lines.

    Example:
        {"prompt": "2+2=?", "chosen": "4", "rejected": ["5", "22"]} -> PreferenceRow("2+2=?", ("4", "5", "22"), ...)

    Idea: the form of public sets of preferences, with exact order as given.
    """
    made, faults = list[PreferenceRow](), list[str]()
    for row in read_rows(file):
        try:
            made.append(_row(row))
        except TaskError as error:
            faults.append(str(error))
    raise_faults(Path(file).name, faults)
    return made


def preference_items(
    rows: Sequence[PreferenceRow], *, half: Split | None, count: int, seed: int, pairs: bool = False
) -> list[BenchItem]:
    """Questions about at most `count` rows, of one half or of all, in an order by the seed.

    Example:
        preference_items(rows, half=None, count=100, seed=0, pairs=False)
    """
    chosen = [k for k, row in enumerate(rows) if half in (None, row.half)]
    chosen = sorted(chosen, key=lambda k: derive_seed("preference order", seed, k))[:count]
    return [_item(rows[k], pairs) for k in chosen]


def _item(row: PreferenceRow, pairs: bool) -> BenchItem:
    digest = hashlib.sha256(row.prompt.encode()).hexdigest()[:12]
    task = Task(f"row-{digest}", (Message("user", row.prompt),))
    rollouts = [answer_rollout(task, text, k) for k, text in enumerate(row.answers)]
    return pair_item(rollouts) if pairs else answer_item(rollouts, CRITERION)


def answer_rollout(task: Task, text: str, k: int) -> Trajectory:
    """The record of a task with one text as answer."""
    messages = (*task.messages, Message("assistant", text))
    return trajectory_from_messages(FORMAT, messages, task=task, id=f"{task.id}/{k}")


def _row(row: FileRow) -> PreferenceRow:
    if row.fault:
        raise TaskError(row.fault)
    for key in ("prompt", "chosen", "rejected"):
        if key not in row.cells:
            raise TaskError(f"{row.place} has no {key!r}, only {sorted(row.cells)}")
    prompt, chosen = _prompt(row), _text(row, "chosen", row.cells["chosen"])
    given = row.cells["rejected"]
    listed = given if isinstance(given, list) else [given]
    rejected = tuple(dict.fromkeys(_text(row, "rejected", one) for one in listed))
    if not rejected:
        raise TaskError(f"{row.place}: 'rejected' is an empty list; give one text or more")
    if chosen in rejected:
        raise TaskError(f"{row.place}: the chosen text is also rejected: {chosen[:60]!r}; remove it from one side")
    half: Split = "test" if derive_seed("preference half", prompt) % PARTS else "train"
    return PreferenceRow(prompt, (chosen, *rejected), half)


def _prompt(row: FileRow) -> str:
    given = row.cells["prompt"]
    if not isinstance(given, list):
        return _text(row, "prompt", given)
    try:
        messages = chat_messages(given)
    except ValueError as error:
        raise TaskError(f"{row.place}: {error}") from error
    if len(messages) == 1:
        return messages[0].content
    return "\n".join(f"{one.role}: {one.content}" for one in messages)


def _text(row: FileRow, key: str, given: Any) -> str:
    if not isinstance(given, str) or not given.strip():
        raise TaskError(f"{row.place}: {key!r} is {str(given)[:60]!r}; give text that is not empty")
    if any("\ud800" <= one <= "\udfff" for one in given):
        raise TaskError(f"{row.place} holds half a character (a lone surrogate such as \\ud83d); write the whole one")
    return given
