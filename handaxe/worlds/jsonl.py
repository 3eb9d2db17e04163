"""World of a user's file: a question and its answer per line, with any reward by name.

Kept: data sets of users: JSON lines, CSV, saved `datasets`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from handaxe.core.errors import InputError, TaskError
from handaxe.core.import_string import attribute
from handaxe.core.protocols import Reward
from handaxe.core.records import Ending, Group, Message, Task, ToolCall, Trajectory
from handaxe.envs.tool_chat import tool_chat
from handaxe.ops.nested_values import iter_strings
from handaxe.ops.seeds import derive_seed
from handaxe.rewards.parts.by_name import reward_by_name
from handaxe.worlds.parts.experts import calls_then_answer
from handaxe.worlds.parts.file_rows import FileRow, read_rows
from handaxe.worlds.parts.reference_calls import reference_calls
from handaxe.worlds.world import Expert, Facts, Split, Start, World

__all__ = ["jsonl"]

START = Start(skill=120, steps=0, batch_size=16)
"""Half a minute: most calls of a new tool succeed, with room for training; no noise."""
SURROGATE = re.compile("[\ud800-\udfff]")
PARTS = 10_000
"""Number of digest buckets for the assignment of questions to splits."""


def jsonl(
    *,
    file: str,
    score: str = "exact_match",
    question: str = "question",
    answer: str = "answer",
    test_share: float = 0.2,
    breakdown: tuple[str, ...] = (),
    expert: str = "",
) -> World:
    """Questions of a file, with tools of your choice.

    A line is {"question": "what is 3 feet in metres?", "answer": 0.9144}. Optional keys are "tools", the names of the
    offered tools (default: all), and "calls", the reference calls, one per turn, such as
    [{"name": "convert", "arguments": {"value": 3}}], which the expert makes. Other keys become metadata.

    A digest of its text assigns each question to train or test. A file is finite: the world returns all tasks of the
    file if more are requested.

    Args:
        file: ends in .jsonl, .json or .ndjson (an object per line), .csv or .tsv (names in the first line), .arrow or
            .parquet, or is a folder of Hugging Face's `datasets` on disk.
        score: the correctness rule: a file of handaxe/rewards whose factory has no required argument, such as
            exact_match, numeric_match, math_match or token_f1, or MODULE:ATTRIBUTE of your reward.
        question: key of the question.
        answer: key of the answer: text, a number, or a list of accepted answers.
        test_share: share of held-out questions, above 0 and below 1.
        breakdown: metadata keys that evaluations are broken down by.
        expert: MODULE:ATTRIBUTE of a function (task, facts) -> Message, the correct message in a state; by default the
            "calls" of the lines define the expert.

    Returns:
        A world without tools. With an expert, `handaxe start` can train a cold-start checkpoint.

    Raises:
        TaskError: the file is missing, empty or unreadable, a line lacks a key, repeats a question, or has an answer
            that the score cannot read; a split is empty. InputError: another argument is invalid.

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
        breakdown=breakdown,
        reference=_reference if shown else None,
        expert=_expert(expert) if expert else calls_then_answer(_calls) if shown else None,
        start=START if expert or shown else None,
        files={"file": Path(file)},
    )


@dataclass(frozen=True)
class _Lines:
    """Tasks of a file."""

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
        """The first `count` tasks of the split in the order of the seed, or all tasks if there are fewer."""
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
    if any(SURROGATE.search(text) for text in iter_strings(row.cells)):
        raise TaskError(
            f"{row.place} holds half a character (a lone surrogate such as \\ud83d); write the whole character"
        )
    prompt = row.cells[question]
    gold = row.cells[answer]
    tools = row.cells.get("tools")
    if not isinstance(prompt, str) or not prompt.strip():
        raise TaskError(f"{row.place}: the question is {prompt!r}; give text")
    if not _is_answer(gold):
        raise TaskError(f"{row.place}: the answer is {gold!r}; give text, a number, or a list of these")
    if tools is not None and not (isinstance(tools, list) and all(isinstance(name, str) for name in tools)):
        raise TaskError(f"{row.place}: tools is {tools!r}; give a list of names")
    rest = {key: cell for key, cell in row.cells.items() if key not in (question, answer, "tools", "calls")}
    if "calls" in row.cells:
        rest["gold_calls"] = _checked_calls(row)
    try:
        json.dumps(rest)
    except (TypeError, ValueError) as error:
        raise TaskError(f"{row.place} holds what JSON cannot keep: {error}") from error
    name = f"{Path(file).stem}-{derive_seed('jsonl', prompt):016x}"
    return Task(name, (Message("user", prompt),), gold, None if tools is None else tuple(tools), rest)


def _is_answer(value: Any) -> bool:
    """Whether a value is non-blank text, a number, or a non-empty list of texts and numbers."""
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
        prompt = task.messages[0].content
        if prompt in first:
            raise TaskError(f"{row.place} repeats the question of {first[prompt]}: {prompt[:60]!r}; keep one of them")
        first[prompt] = row.place


def _check_answer(row: FileRow, task: Task, correct: Reward, score: str) -> None:
    """Score an empty trajectory, so that a reward reports an unreadable answer early."""
    try:
        correct(Group(task, (Trajectory("check", task, 0, (), (), Ending("completed"), task.messages),)))
    except TaskError as error:
        raise TaskError(f"{row.place}: {score} cannot read the answer {task.answer!r}: {error}") from error


def _expert(name: str) -> Expert:
    function = attribute(name, noun="expert", example="my_file:my_expert")

    def expert(task: Task, facts: Facts) -> Message:
        message = function(task, facts)
        if not isinstance(message, Message) or message.role != "assistant":
            raise InputError(
                f"the expert {name} returned {message!r} for task {task.id!r}: return Message('assistant', text, calls)"
            )
        return message

    return expert


def _reference(task: Task) -> tuple[ToolCall, ...]:
    return reference_calls(task) if "gold_calls" in task.metadata else ()


def _calls(task: Task, facts: Facts) -> Sequence[ToolCall]:
    return _reference(task) if all(one.name in facts["tools"] for one in _reference(task)) else ()
