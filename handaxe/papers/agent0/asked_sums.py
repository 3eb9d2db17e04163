"""The world of sums for a policy that also asks: the one that training starts from can write questions of its own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from handaxe.core.protocols import Curriculum
from handaxe.core.records import Message, Task
from handaxe.curricula.task_pool import task_pool
from handaxe.worlds.parts import arithmetic_tasks as arithmetic
from handaxe.worlds.sums import START as START_OF_SUMS
from handaxe.worlds.sums import sums
from handaxe.worlds.world import World

__all__ = ["OPENING", "asked_sums", "for_training", "read_question", "unlabelled"]

ASKED = "Ask a question."
"""No task asks so."""
OPENING = Task("propose", (Message("user", ASKED),))
"""What a policy is told that is to write a question."""
QUESTIONS = tuple(
    (ASKED, str(task.metadata["expression"])) for task in arithmetic.tasks(count=400, seed=0, split="train", easy=0.5)
)
START = START_OF_SUMS._replace(lessons=(*START_OF_SUMS.lessons, *QUESTIONS))
EXPRESSION = re.compile(r"(\d{1,4})([-+*])(\d{1,4})")


def asked_sums(*, easy: float = 0.5, last_number: bool = False) -> World:
    """As `sums`, with a start that answers `OPENING` with an expression, such as 23*41, half of them easy.

    Args:
        easy: share of easy questions among the tasks, 0 to 1.
        last_number: score the last number of an answer instead of its whole text, for models that speak in sentences.

    Returns:
        A world broken down by "difficulty", whose tasks keep their reference call.

    Raises:
        InputError: `easy` out of range, when tasks are made.
    """
    return replace(sums(easy=easy, last_number=last_number), name="asked_sums", start=START)


def read_question(text: str) -> Task | None:
    """The task that a text asks: an expression of two whole numbers of up to four digits; None where it is none.

    Nothing is known of its answer.

    Example:
        "23*41" -> the task that asks "23*41=?";  "twice 41" -> None
    """
    found = EXPRESSION.fullmatch(text.strip())
    if found is None or any(len(number) > 1 and number[0] == "0" for number in found.group(1, 3)):
        return None
    asked = found[0]
    return Task(f"asked-{asked}", (Message("user", f"{asked}=?"),), metadata={"expression": asked})


def for_training(task: Task) -> bool:
    """Whether a question may be trained on: its problem is none of the held-out ones."""
    return arithmetic.split_of_problem(str(task.metadata["expression"])) == "train"


def unlabelled(tasks: Sequence[Task], seed: int) -> Curriculum:
    """A pool of tasks without answers: nothing can be learned of it until a stage puts others in their place."""
    bare = [replace(one, answer="", metadata={**one.metadata, "score": 0.0}) for one in tasks]
    return task_pool(bare, seed=seed)
