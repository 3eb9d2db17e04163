"""Tasks of a user's rows: prompt, reference answer, tools, calls, weight; checks of each; the split of a question."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from handaxe.core.errors import InputError, TaskError
from handaxe.core.images import Image
from handaxe.core.protocols import Reward
from handaxe.core.records import Ending, Group, Message, Task, ToolCall, Trajectory
from handaxe.models.chat_formats.tool_call_parsing import read_json
from handaxe.ops.nested_values import iter_strings
from handaxe.ops.seeds import derive_seed
from handaxe.worlds.parts.chat_rows import chat_messages, part_images
from handaxe.worlds.parts.file_rows import FileRow, present_cells
from handaxe.worlds.parts.reference_calls import reference_calls
from handaxe.worlds.parts.row_images import RowImages, cell_images, place_images
from handaxe.worlds.world import Facts, Split

__all__ = [
    "RowTasks",
    "WEIGHT",
    "check_share",
    "offered_reference_calls",
    "prompt_text",
    "row_reference_calls",
    "row_split",
]

WEIGHT = "weight"
"""Key of a row, and of task metadata: frequency in training relative to other rows."""
MISSING = object()
SURROGATE = re.compile("[\ud800-\udfff]")
PARTS = 10_000
"""Number of digest buckets for the assignment of questions to splits."""


@dataclass(frozen=True)
class RowTasks:
    """Conversion of rows to tasks.

    name      start of task ids
    question, answer, messages   keys; a key that no cell has may be a path, such as reward_model.ground_truth
    correct   the reward that reads the answers; `score` is its name
    image     names of the columns of images, with commas between; a name with an s appended counts too. "" for no
              images
    images    reader of the images; None for a world without images
    """

    name: str
    question: str
    answer: str
    messages: str
    correct: Reward
    score: str
    image: str = ""
    images: RowImages | None = None

    def task(self, row: FileRow) -> Task:
        """Make the task of a row.

        Raises:
            TaskError: the row has a fault; the message starts with the place of the row.
        """
        if row.fault:
            raise TaskError(row.fault)
        if any(SURROGATE.search(text) for text in iter_strings(row.cells)):
            raise TaskError(
                f"{row.place} holds half a character (a lone surrogate such as \\ud83d); write the whole character"
            )
        prompt, gold = self._prompt(row), self._cell(row, self.answer)
        if not _is_answer(gold):
            raise TaskError(f"{row.place}: the answer is {gold!r}; give text, a number, or a list of these")
        tools = row.cells.get("tools")
        if tools is not None and not (isinstance(tools, list) and all(isinstance(name, str) for name in tools)):
            raise TaskError(f"{row.place}: tools is {tools!r}; give a list of names")
        used = (self.question, self.answer, self.messages, "tools", "calls", *self._image_keys(row))
        rest = {key: cell for key, cell in row.cells.items() if key not in used}
        if WEIGHT in rest:
            rest[WEIGHT] = _weight(row)
        if "calls" in row.cells:
            rest["gold_calls"] = _checked_calls(row)
        try:
            json.dumps(rest)
        except (TypeError, ValueError) as error:
            raise TaskError(f"{row.place} holds what JSON cannot keep: {error}") from error
        name = f"{self.name}-{derive_seed('jsonl', prompt_text(prompt)):016x}"
        task = Task(name, prompt, gold, None if tools is None else tuple(tools), rest)
        self._check_answer(row, task)
        return task

    def image_cells(self, row: FileRow) -> list[Any]:
        """List the images of a row, unread: of the column, and of parts of the messages."""
        return [*self._column(row), *part_images(row.cells.get(self.messages))]

    def has_images(self, row: FileRow) -> bool:
        """True if the row has the column of images."""
        return bool(self._image_keys(row))

    def _image_keys(self, row: FileRow) -> list[str]:
        names = self.image.split(",") if self.image and self.images else []
        return [one for name in names for one in (name.strip(), f"{name.strip()}s") if one in row.cells]

    def _column(self, row: FileRow) -> list[Any]:
        cells = [row.cells[name] for name in self._image_keys(row)]
        return [one for cell in cells for one in cell_images(cell, split=_json_list)]

    def _images(self, row: FileRow) -> list[Image]:
        """Images of the column.

        Raises:
            TaskError: lists every image of the row that cannot be read.
        """
        reader = self.images
        if reader is None:
            return []
        found, faults = list[Image](), list[str]()
        for cell in self._column(row):
            try:
                found.append(reader.read(cell))
            except InputError as error:
                faults.append(str(error))
        if faults:
            raise TaskError(f"{row.place}: {'; '.join(faults)}")
        return found

    def _prompt(self, row: FileRow) -> tuple[Message, ...]:
        images = self._images(row)
        if self._cell(row, self.messages, optional=True) is MISSING:
            question = self._cell(row, self.question)
            if not isinstance(question, str) or not question.strip():
                raise TaskError(f"{row.place}: the question is {question!r:.60}; give text")
            content, shown = place_images(question, images)
            return (Message("user", content, images=shown),)
        if self.question in row.cells:
            raise TaskError(f"{row.place} has {self.question!r} and {self.messages!r}; give one of them")
        try:
            read = None if self.images is None else self.images.read
            return chat_messages(self._cell(row, self.messages), read, images)
        except ValueError as error:
            raise TaskError(f"{row.place}: {error}") from error

    def _cell(self, row: FileRow, key: str, *, optional: bool = False) -> Any:
        """The cell of a key or a path of keys; MISSING for an absent optional one."""
        found: Any = row.cells.get(key, MISSING)
        if found is MISSING:
            found = row.cells
            for part in key.split("."):
                found = found.get(part, MISSING) if isinstance(found, Mapping) else MISSING
        if found is MISSING and not optional:
            raise TaskError(
                f"{row.place} has no {key!r}, only {sorted(row.cells)}; name other keys with question and answer"
            )
        return found

    def _check_answer(self, row: FileRow, task: Task) -> None:
        """Score an empty trajectory, so that a reward reports an unreadable answer early."""
        try:
            self.correct(Group(task, (Trajectory("check", task, 0, (), (), Ending("completed"), task.messages),)))
        except TaskError as error:
            raise TaskError(f"{row.place}: {self.score} cannot read the answer {task.answer!r}: {error}") from error


def row_split(task: Task, test_share: float) -> Split:
    """Return the split of a question, by a digest of its text: equal questions are always in the same split. With
    images, the split is by a digest of the images: all questions about an image are in the same split.
    """
    shown = _digests(task.messages)
    part = derive_seed("jsonl split", " ".join(shown) if shown else prompt_text(task.messages)) % PARTS
    return "test" if part < test_share * PARTS else "train"


def prompt_text(messages: Sequence[Message]) -> str:
    """Return the text that identifies a prompt: of the message if there is only one, else of all messages. With images
    it has their digests.
    """
    if shown := _digests(messages):
        return json.dumps([prompt_text([replace(one, images=()) for one in messages]), shown])
    if len(messages) == 1 and messages[0].role == "user":
        return messages[0].content
    calls = [[[call.name, dict(call.arguments)] for call in one.calls] for one in messages]
    return json.dumps([[one.role, one.content, made] for one, made in zip(messages, calls)], sort_keys=True)


def row_reference_calls(task: Task) -> tuple[ToolCall, ...]:
    """Return the reference calls of a task; () without any."""
    return reference_calls(task) if "gold_calls" in task.metadata else ()


def offered_reference_calls(task: Task, facts: Facts) -> Sequence[ToolCall]:
    """Return the reference calls of a task, for `calls_then_answer`; () if a tool of theirs is not offered."""
    found = row_reference_calls(task)
    return found if all(one.name in facts["tools"] for one in found) else ()


def check_share(test_share: float) -> None:
    """Raise InputError for a share of held-out questions outside (0, 1)."""
    if not 0 < test_share < 1:
        raise InputError(f"test_share is {test_share}; give a share above 0 and below 1, such as 0.2")


def _digests(messages: Sequence[Message]) -> list[str]:
    return [image.digest for message in messages for image in message.images]


def _json_list(text: str) -> Any:
    """The list of a cell of a CSV file; the text itself if it is no list."""
    try:
        return read_json(text)
    except ValueError:
        return text


def _weight(row: FileRow) -> float:
    given = row.cells[WEIGHT]
    try:
        weight = float("nan") if isinstance(given, bool) else float(given)
    except (TypeError, ValueError):
        weight = math.nan
    if not (math.isfinite(weight) and weight > 0):
        raise TaskError(f"{row.place}: the weight is {given!r:.60}; give a number above 0")
    return weight


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
    return [{"name": one["name"], "arguments": present_cells(one["arguments"])} for one in calls]
