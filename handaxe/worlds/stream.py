"""World of shards that are streamed: questions of data sets larger than memory.

Kept: data sets of users in shards.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from handaxe.core.errors import CheckpointError, InputError, TaskError
from handaxe.core.records import RatedGroup, Task
from handaxe.envs.tool_chat import tool_chat
from handaxe.rewards.parts.by_name import reward_by_name
from handaxe.worlds.parts.check_split import check_count
from handaxe.worlds.parts.experts import calls_then_answer
from handaxe.worlds.parts.file_rows import raise_faults
from handaxe.worlds.parts.row_images import RowImages
from handaxe.worlds.parts.row_tasks import (
    WEIGHT,
    RowTasks,
    check_share,
    offered_reference_calls,
    row_reference_calls,
    row_split,
)
from handaxe.worlds.parts.shards import Position, Shards, open_shards
from handaxe.worlds.world import Split, World

__all__ = ["stream"]


def stream(
    *,
    data: str,
    split: str = "train",
    score: str = "exact_match",
    question: str = "question",
    answer: str = "answer",
    messages: str = "messages",
    image: str = "image",
    buffer: int = 1000,
    test_share: float = 0.05,
    breakdown: tuple[str, ...] = (),
) -> World:
    """Questions of shards, streamed, with tools of your choice.

    Rows are those of `jsonl`; weights are refused. A window of `buffer` rows is in memory, and training goes through
    all rows, epoch after epoch, in a seeded order of shards and windows. The 4,096 training tasks of a run are the
    first ones of the order; a method or a curriculum that chooses among tasks has these alone.

    Rows show images as in `jsonl`, with paths relative to the folder that holds all shards. The images of a window are
    decoded when the window is read.

    A digest of its text, or of its images, assigns each question to train or test, so equal questions are in one split.
    Held-out tasks are
    the first of an order of their own; a repeated question counts once among them.

    Args:
        data: a file, a folder or a pattern of .parquet, .jsonl, .json, .ndjson or .arrow files, or the name of a data
            set of a hub.
        split: split of the hub's data set that is read.
        score: the correctness rule, as in `jsonl`.
        question: column of the question, or a path of columns such as extra.question.
        answer: column or path of the answer, such as reward_model.ground_truth.
        messages: column or path of a conversation in place of the question.
        image: columns of the images, as in `jsonl`; "" reads no images.
        buffer: rows of a window, >= 1: more memory, and a better shuffle.
        test_share: share of held-out questions, above 0 and below 1.
        breakdown: metadata keys that evaluations are broken down by.

    Returns:
        A world without tools, with an expert from the "calls" of the rows and without a cold start.

    Raises:
        TaskError: no shard, a shard that cannot be read, or bad rows: one error lists those of a window. By `tasks`: a
            split without a question. InputError: another argument is invalid, or a hub cannot be reached.

    Example:
        stream(data="data/train-*.parquet", question="prompt", answer="label").tasks("train", 100, 0)
    """
    check_share(test_share)
    if buffer < 1:
        raise InputError(f"buffer is {buffer}; give 1 row or more, such as 1000")
    shards = open_shards(data, split=split)
    reader = RowImages(shards.folder) if image else None
    rows = RowTasks("row", question, answer, messages, reward_by_name(score), score, image, reader)
    source = _Source(shards, rows, buffer, test_share)
    return World(
        name="stream",
        tasks=source.tasks,
        env=tool_chat,
        correct=rows.correct,
        user_tools=True,
        breakdown=breakdown,
        reference=row_reference_calls,
        expert=calls_then_answer(offered_reference_calls),
        curriculum=lambda tasks, seed: _Streamed(source, seed),
        files={"data": Path(data)} if shards.files else {},
    )


@dataclass(frozen=True)
class _Source:
    """Tasks of shards."""

    shards: Shards
    rows: RowTasks
    buffer: int
    test_share: float

    def window(self, position: Position, split: Split, *, seed: int) -> tuple[list[Task], Position]:
        """The tasks of a split in a window, and the position of the next window."""
        found, after = self.shards.window(position, seed=seed, buffer=self.buffer)
        made, faults = list[Task](), list[str]()
        rows = self.rows
        if rows.images is not None and any(cells := [rows.image_cells(row) for row in found]):
            images = rows.images.fresh()  # images of other windows are forgotten with their tasks
            images.prefetch(one for own in cells for one in own)
            rows = replace(rows, images=images)
        for row in found:
            try:
                task = rows.task(row)
                if WEIGHT in task.metadata:
                    raise TaskError(f"{row.place} has a weight; rows of a stream have none: rename the column")
                made.append(task)
            except TaskError as error:
                faults.append(str(error))
        raise_faults("a window of the shards", sorted(faults))
        return [task for task in made if row_split(task, self.test_share) == split], after

    def tasks(self, split: Split, count: int, seed: int) -> list[Task]:
        """The first `count` different questions of the split in the order of the seed, or all of an epoch."""
        check_count(split, count)
        made: dict[str, Task] = {}
        for task in self._epoch(split, seed):
            made.setdefault(task.id, task)
            if len(made) == count:
                break
        if not made:
            raise TaskError(
                f"no question falls to {split!r}: give more rows, or another test_share than {self.test_share}"
            )
        return list(made.values())

    def _epoch(self, split: Split, seed: int) -> Iterator[Task]:
        position = Position()
        while position.epoch == 0:
            tasks, position = self.window(position, split, seed=seed)
            yield from tasks


class _Place(NamedTuple):
    """A window, and the number of a training task in it."""

    window: Position
    task: int


class _Streamed:
    """Curriculum over all training tasks of a stream."""

    def __init__(self, source: _Source, seed: int):
        self._source = source
        self._seed = seed
        self._step = -1
        self._count = 0
        self._place = _Place(Position(), 0)
        """First task of the present step."""
        self._windows: dict[tuple[int, int], tuple[list[Task], Position]] = {}
        """Windows of the present step, by epoch and number."""

    def next(self, step: int, count: int) -> list[Task]:
        """Return the `count` tasks of a step."""
        if step != self._step:
            _, self._place = self._read(self._place, self._count)
            first = self._place.window
            kept = {key: one for key, one in self._windows.items() if key >= (first.epoch, first.window)}
            self._step, self._windows = step, kept
        self._count = count
        tasks, _ = self._read(self._place, count)
        return tasks

    def observe(self, groups: Sequence[RatedGroup]) -> None:
        """Do nothing: the order is independent of results."""

    def state_dict(self) -> dict[str, Any]:
        window = {**self._place.window._asdict(), "state": json.dumps(self._place.window.state)}
        place = {"window": window, "task": self._place.task}
        return {"source": self._digest(), "step": self._step, "count": self._count, "place": place}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        if state["source"] != self._digest():
            raise CheckpointError("the checkpoint streamed other shards, or with another seed, buffer or test_share")
        window = state["place"]["window"]
        self._place = _Place(Position(**{**window, "state": json.loads(window["state"])}), int(state["place"]["task"]))
        self._step, self._count = int(state["step"]), int(state["count"])
        self._windows = {}

    def _read(self, place: _Place, count: int) -> tuple[list[Task], _Place]:
        """Read `count` tasks from a place on; returns the tasks and the place after them."""
        made: list[Task] = []
        window, start = place
        while len(made) < count:
            if not made and window.epoch > place.window.epoch + 1:
                raise TaskError("no question falls to 'train': give more rows, or a smaller test_share")
            tasks, after = self._window(window)
            taken = tasks[start : start + count - len(made)]
            made += taken
            start += len(taken)
            if start >= len(tasks):
                window, start = after, 0
        return made, _Place(window, start)

    def _window(self, window: Position) -> tuple[list[Task], Position]:
        key = (window.epoch, window.window)
        if key not in self._windows:
            self._windows[key] = self._source.window(window, "train", seed=self._seed)
        return self._windows[key]

    def _digest(self) -> str:
        source = self._source
        parts = (source.shards.names, source.shards.hub, self._seed, source.buffer, source.test_share)
        return hashlib.blake2b(repr(parts).encode(), digest_size=8).hexdigest()
