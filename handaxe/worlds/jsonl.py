"""A world out of a user's own file: a question and its answer on each line, and any reward by name."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from handaxe.core.errors import InputError, TaskError
from handaxe.core.import_string import attribute
from handaxe.core.protocols import Reward
from handaxe.core.records import Ending, Group, Message, Task, ToolCall, Trajectory
from handaxe.envs.tool_chat import tool_chat
from handaxe.ops.seeds import derive_seed
from handaxe.rewards.parts.by_name import reward_by_name
from handaxe.worlds.parts.experts import calls_then_answer
from handaxe.worlds.parts.rows import FileRow, read_rows
from handaxe.worlds.sums import kept_calls
from handaxe.worlds.world import Expert, Facts, Split, Start, World

__all__ = ["jsonl"]

START = Start(skill=120, steps=0, batch_size=16)
"""Half a minute: enough to use a new tool well more often than not, with room for training. No habit is wanted."""
PARTS = 10_000
"""Into how many parts questions are sorted by digest, to tell the two splits apart."""


def jsonl(
    *,
    file: str,
    score: str = "exact_match",
    question: str = "question",
    answer: str = "answer",
    test_share: float = 0.2,
    by: tuple[str, ...] = (),
    expert: str = "",
) -> World:
    """Questions out of a file, with the tools that you name.

    A line is {"question": "what is 3 feet in metres?", "answer": 0.9144} and may have besides "tools", the names of the
    tools offered (all unless told otherwise); "calls", the calls that lead to the answer, one a turn, such as
    [{"name": "convert", "arguments": {"value": 3}}], of which the expert is made; anything else is metadata.

    A question is in train or test for ever, by a digest of its text. A file is finite: asked for more tasks than it
    has, the world gives those it has.

    Args:
        file: ends in .jsonl, .json or .ndjson (an object a line), .csv or .tsv (names in the first line), .arrow or
            .parquet, or is a folder of Hugging Face's `datasets` on disk.
        score: what is right: a file of handaxe/rewards whose factory needs no argument, such as exact_match,
            numeric_match, math_match or token_f1, or MODULE:ATTRIBUTE of a reward of your own.
        question: the key of the question.
        answer: the key of the answer: text, a number, or a list of these of which any is right.
        test_share: share of the questions that is held out, above 0 and below 1.
        by: metadata keys that evaluations are broken down by.
        expert: MODULE:ATTRIBUTE of a function (task, facts) -> Message that says what is right in a state; where it is
            left out, the "calls" of the lines say it.

    Returns:
        A world without tools of its own; one with an expert can be given a start by `handaxe start`.

    Raises:
        TaskError: the file is missing, empty or cannot be read, a line lacks a key, has an answer that the score
            cannot read, or repeats a question; a split has nothing. InputError: another argument is wrong.

    Example:
        jsonl(file="units.jsonl", score="numeric_match").tasks("train", 100, 0)
    """
    if not 0 < test_share < 1:
        raise InputError(f"test_share is {test_share}; give a share above 0 and below 1, such as 0.2")
    rows = read_rows(file)
    lines = _Lines(Path(file), [_task(row, file, question, answer) for row in rows], test_share)
    _check_questions(rows, lines.made)
    correct = reward_by_name(score)
    for row, task in zip(rows, lines.made):
        _check_answer(row, task, correct, score)
    shown = any("gold_calls" in task.metadata for task in lines.made)
    return World(
        name="jsonl",
        tasks=lines.tasks,
        env=tool_chat,
        correct=correct,
        by=by,
        reference=_reference if shown else None,
        expert=_expert(expert) if expert else calls_then_answer(_calls) if shown else None,
        start=START if expert or shown else None,
    )


@dataclass(frozen=True)
class _Lines:
    """The tasks of a file."""

    file: Path
    made: list[Task]
    test_share: float

    def __post_init__(self) -> None:
        for split in ("train", "test"):
            if not any(self._split(task) == split for task in self.made):
                raise TaskError(
                    f"none of the {len(self.made)} questions of {self.file} falls to {split!r}: give more questions, "
                    f"or another test_share than {self.test_share}"
                )

    def tasks(self, split: Split, count: int, seed: int) -> list[Task]:
        """The first `count` of the split's tasks in the order of the seed, or all where there are fewer."""
        if count < 1:
            raise TaskError(f"a data set of {count} tasks is empty; give a count of 1 or more")
        chosen = [task for task in self.made if self._split(task) == split]
        return sorted(chosen, key=lambda task: derive_seed("jsonl order", seed, task.id))[:count]

    def _split(self, task: Task) -> Split:
        part = derive_seed("jsonl split", task.messages[0].content) % PARTS
        return "test" if part < self.test_share * PARTS else "train"


def _task(row: FileRow, file: str, question: str, answer: str) -> Task:
    for key in (question, answer):
        if key not in row.cells:
            raise TaskError(
                f"{row.place} has no {key!r}, only {sorted(row.cells)}; name other keys with question and answer"
            )
    asked = row.cells[question]
    right = row.cells[answer]
    tools = row.cells.get("tools")
    if not isinstance(asked, str) or not asked.strip():
        raise TaskError(f"{row.place}: the question is {asked!r}; give text")
    if not _is_answer(right):
        raise TaskError(f"{row.place}: the answer is {right!r}; give text, a number, or a list of these")
    if tools is not None and not (isinstance(tools, list) and all(isinstance(name, str) for name in tools)):
        raise TaskError(f"{row.place}: tools is {tools!r}; give a list of names")
    rest = {key: cell for key, cell in row.cells.items() if key not in (question, answer, "tools", "calls")}
    if "calls" in row.cells:
        rest["gold_calls"] = _checked_calls(row)
    try:
        json.dumps(rest)
    except (TypeError, ValueError) as error:
        raise TaskError(f"{row.place} holds what JSON cannot keep: {error}") from error
    name = f"{Path(file).stem}-{derive_seed('jsonl', asked):016x}"
    return Task(name, (Message("user", asked),), right, None if tools is None else tuple(tools), rest)


def _is_answer(value: Any) -> bool:
    """Text that is not blank, a number, or a list of these with one entry or more."""
    if isinstance(value, list):
        return bool(value) and all(not isinstance(one, list) and _is_answer(one) for one in value)
    if isinstance(value, str):
        return bool(value.strip())
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _checked_calls(row: FileRow) -> list[dict[str, Any]]:
    calls = row.cells["calls"]
    shapes = isinstance(calls, list) and all(
        isinstance(one, Mapping) and isinstance(one.get("name"), str) and isinstance(one.get("arguments"), Mapping)
        for one in calls
    )
    if not shapes:
        raise TaskError(f'{row.place}: calls is {calls!r}; give [{{"name": text, "arguments": object}}, ...]')
    return [{"name": one["name"], "arguments": _present(one["arguments"])} for one in calls]


def _present(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in arguments.items() if value is not None}


def _check_questions(rows: Sequence[FileRow], tasks: Sequence[Task]) -> None:
    first: dict[str, str] = {}
    for row, task in zip(rows, tasks):
        asked = task.messages[0].content
        if asked in first:
            raise TaskError(f"{row.place} asks again what {first[asked]} asks: {asked[:60]!r}; keep one of them")
        first[asked] = row.place


def _check_answer(row: FileRow, task: Task, correct: Reward, score: str) -> None:
    """Score an attempt that said nothing: a reward says at once of an answer that it cannot read it."""
    try:
        correct(Group(task, (Trajectory("check", task, 0, (), (), Ending("completed"), task.messages),)))
    except TaskError as error:
        raise TaskError(f"{row.place}: {score} cannot read the answer {task.answer!r}: {error}") from error


def _expert(where: str) -> Expert:
    told = attribute(where, noun="expert", example="my_file:my_expert")

    def expert(task: Task, facts: Facts) -> Message:
        message = told(task, facts)
        if not isinstance(message, Message) or message.role != "assistant":
            raise InputError(
                f"the expert {where} said {message!r} to task {task.id!r}: return Message('assistant', text, calls)"
            )
        return message

    return expert


def _reference(task: Task) -> tuple[ToolCall, ...]:
    return kept_calls(task) if "gold_calls" in task.metadata else ()


def _calls(task: Task, facts: Facts) -> Sequence[ToolCall]:
    return _reference(task) if all(one.name in facts["tools"] for one in _reference(task)) else ()
