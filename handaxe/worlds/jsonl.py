"""World of a user's file: a question or a conversation, and the answer, per line, with any reward by name.

Kept: data sets of users: JSON lines, CSV, saved `datasets`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from handaxe.core.errors import InputError, TaskError
from handaxe.core.import_string import attribute
from handaxe.core.protocols import Curriculum
from handaxe.core.records import Message, Task
from handaxe.core.user_code import check_call
from handaxe.curricula.by_weight import by_weight
from handaxe.envs.tool_chat import tool_chat
from handaxe.ops.seeds import derive_seed
from handaxe.rewards.parts.by_name import reward_by_name
from handaxe.worlds.parts.experts import calls_then_answer
from handaxe.worlds.parts.file_rows import raise_faults, read_rows
from handaxe.worlds.parts.row_images import RowImages
from handaxe.worlds.parts.row_tasks import (
    WEIGHT,
    RowTasks,
    check_share,
    offered_reference_calls,
    prompt_text,
    row_reference_calls,
    row_split,
)
from handaxe.worlds.world import Expert, Facts, Split, Start, World

__all__ = ["jsonl"]

IMAGE = "image"
START = Start(skill=120, steps=0, batch_size=16)
"""Half a minute: most calls of a new tool succeed, with room for training; no noise."""


def jsonl(
    *,
    file: str,
    score: str = "exact_match",
    question: str = "question",
    answer: str = "answer",
    messages: str = "messages",
    image: str = IMAGE,
    test_share: float = 0.2,
    breakdown: tuple[str, ...] = (),
    expert: str = "",
) -> World:
    """Questions of a file, with tools of your choice.

    A line is {"question": "what is 3 feet in metres?", "answer": 0.9144}. In place of the question, "messages" holds a
    conversation up to the turn of the policy, see `worlds.parts.chat_rows`. Optional keys are "tools", the names of the
    offered tools (default: all), "calls", the reference calls, one per turn, such as
    [{"name": "convert", "arguments": {"value": 3}}], which the expert makes, and "weight", the frequency in training
    relative to other lines (default: 1), see `curricula.by_weight`. Other keys become metadata.

    A row may show images: in the column "image" or "images", a path below the folder of the file, a data: URL, bytes,
    or a list of these, see `worlds.parts.row_images`. `image` may name several columns. They stand at `<image>` in the
    question if their number agrees, else before the question. Needs the extra [images].

    A digest of its text, or of its images, assigns each question to train or test. A file is finite: the world returns
    all tasks of the file if more are requested.

    Args:
        file: ends in .jsonl, .json or .ndjson (an object per line), .csv or .tsv (names in the first line), .arrow or
            .parquet, or is a folder of Hugging Face's `datasets` on disk.
        score: the correctness rule: a file of handaxe/rewards whose factory has no required argument, such as
            exact_match, numeric_match, math_match or token_f1, or MODULE:ATTRIBUTE of your reward.
        question: key of the question, or a path of keys such as extra.question.
        answer: key or path of the answer: text, a number, or a list of accepted answers.
        messages: key or path of the conversation.
        image: column of the images, also with an s appended, or several with commas between, in the order in which
            their images are shown, such as before,after; "" reads no images.
        test_share: share of held-out questions, above 0 and below 1.
        breakdown: metadata keys that evaluations are broken down by.
        expert: MODULE:ATTRIBUTE of a function (task, facts) -> Message, the correct message in a state; by default the
            "calls" of the lines define the expert.

    Returns:
        A world without tools. With an expert, `handaxe start` can train a cold-start checkpoint.

    Raises:
        TaskError: the file is missing, empty or unreadable; a split is empty; or a line lacks a key, repeats a
            question, has an answer that the score cannot read, or an image that cannot be read. One error lists all bad
            lines. InputError: another argument is invalid.

    Example:
        jsonl(file="units.jsonl", score="numeric_match").tasks("train", 100, 0)
    """
    check_share(test_share)
    folder = Path(file) if Path(file).is_dir() else Path(file).parent
    reader = RowImages(folder) if image else None
    rows = RowTasks(Path(file).stem, question, answer, messages, reward_by_name(score), score, image, reader)
    lines = _Lines(Path(file), _tasks(rows, file), test_share)
    shown = any("gold_calls" in task.metadata for task in lines.made)
    return World(
        name="jsonl",
        tasks=lines.tasks,
        env=tool_chat,
        correct=rows.correct,
        user_tools=True,
        breakdown=breakdown,
        reference=row_reference_calls if shown else None,
        expert=_expert(expert) if expert else calls_then_answer(offered_reference_calls) if shown else None,
        start=START if expert or shown else None,
        curriculum=_by_weight if any(WEIGHT in task.metadata for task in lines.made) else None,
        files={"file": Path(file)},
        images={"file": tuple(reader.paths)} if reader is not None and reader.paths and Path(file).is_file() else {},
    )


@dataclass(frozen=True)
class _Lines:
    """Tasks of a file."""

    file: Path
    made: list[Task]
    test_share: float

    def __post_init__(self) -> None:
        for split in ("train", "test"):
            if not any(row_split(task, self.test_share) == split for task in self.made):
                raise TaskError(
                    f"none of the {len(self.made)} questions of {self.file} falls to {split!r}: give more questions, "
                    f"or another test_share than {self.test_share}"
                )

    def tasks(self, split: Split, count: int, seed: int) -> list[Task]:
        """The first `count` tasks of the split in the order of the seed, or all tasks if there are fewer."""
        if count < 1:
            raise TaskError(f"a data set of {count} tasks is empty; give a count of 1 or more")
        chosen = [task for task in self.made if row_split(task, self.test_share) == split]
        return sorted(chosen, key=lambda task: derive_seed("jsonl order", seed, task.id))[:count]


def _tasks(rows: RowTasks, file: str) -> list[Task]:
    """Tasks of all rows of a file."""
    made, faults = list[Task](), list[str]()
    first: dict[str, str] = {}
    found = read_rows(file)
    wanted = [] if rows.image in ("", IMAGE) else rows.image.split(",")
    for name in wanted:
        if not any(replace(rows, image=name).has_images(row) for row in found):
            raise TaskError(f"no row of {Path(file).name} has the column {name.strip()!r} of images; name another one")
    if rows.images is not None and any(cells := [rows.image_cells(row) for row in found]):
        rows.images.prefetch(one for own in cells for one in own)
    for row in found:
        try:
            task = rows.task(row)
        except TaskError as error:
            faults.append(str(error))
            continue
        prompt = prompt_text(task.messages)
        if prompt in first:
            asked = prompt if len(task.messages) > 1 else task.messages[0].content
            faults.append(f"{row.place} repeats the question of {first[prompt]}: {asked[:60]!r}; keep one of them")
            continue
        first[prompt] = row.place
        made.append(task)
    raise_faults(Path(file).name, faults)
    return made


def _by_weight(tasks: list[Task], seed: int) -> Curriculum:
    return by_weight(tasks, seed=seed, key=WEIGHT)


def _expert(name: str) -> Expert:
    function = attribute(name, noun="expert", example="my_file:my_expert")
    if not callable(function):
        raise InputError(f"the expert {name} is {function!r}: give a function of task and facts that returns a message")
    check_call(function, ("task", "facts"), name=f"the expert {name}")

    def expert(task: Task, facts: Facts) -> Message:
        message = function(task, facts)
        if not isinstance(message, Message) or message.role != "assistant":
            raise InputError(
                f"the expert {name} returned {message!r} for task {task.id!r}: return Message('assistant', text, calls)"
            )
        return message

    return expert
