"""Arithmetic for a policy with a second task, writing questions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from handaxe.core.protocols import Curriculum
from handaxe.core.records import Message, Task
from handaxe.curricula.task_pool import task_pool
from handaxe.worlds.arithmetic import START as ARITHMETIC_START
from handaxe.worlds.arithmetic import arithmetic
from handaxe.worlds.parts import arithmetic_tasks
from handaxe.worlds.world import World

__all__ = ["OPENING", "arithmetic_questions", "is_training_question", "read_question", "unlabelled_pool"]

PROMPT = "Ask a question."
"""The proposer's prompt; no task uses it."""
OPENING = Task("propose", (Message("user", PROMPT),))
"""The proposer's task."""
QUESTIONS = tuple(
    (PROMPT, str(task.metadata["expression"]))
    for task in arithmetic_tasks.tasks(count=400, seed=0, split="train", easy=0.5)
)
START = ARITHMETIC_START._replace(warmup=(*ARITHMETIC_START.warmup, *QUESTIONS))
EXPRESSION = re.compile(r"(\d{1,4})([-+*])(\d{1,4})")


def arithmetic_questions(*, easy: float = 0.5, last_number: bool = False) -> World:
    """`arithmetic` with a start policy that replies to `OPENING` with an expression such as 23*41; half are easy.

    Args:
        easy: share of easy questions among the tasks, 0 to 1.
        last_number: score the last number of an answer instead of its whole text, for models that answer in sentences.

    Returns:
        A world broken down by "difficulty", with reference calls.

    Raises:
        InputError: `easy` out of range, when tasks are made.
    """
    return replace(arithmetic(easy=easy, last_number=last_number), name="arithmetic_questions", start=START)


def read_question(text: str) -> Task | None:
    """Parse a question: an expression of two whole numbers of at most four digits. Return None for any other text.

    The task has no answer.

    Example:
        "23*41" -> the task "23*41=?";  "twice 41" -> None
    """
    found = EXPRESSION.fullmatch(text.strip())
    if found is None or any(len(number) > 1 and number[0] == "0" for number in found.group(1, 3)):
        return None
    expression = found[0]
    return Task(f"asked-{expression}", (Message("user", f"{expression}=?"),), metadata={"expression": expression})


def is_training_question(task: Task) -> bool:
    """Check whether a question's problem belongs to the training split."""
    return arithmetic_tasks.problem_split(str(task.metadata["expression"])) == "train"


def unlabelled_pool(tasks: Sequence[Task], seed: int) -> Curriculum:
    """Create a pool of tasks without answers; a stage replaces them before training."""
    bare = [replace(one, answer="", metadata={**one.metadata, "score": 0.0}) for one in tasks]
    return task_pool(bare, seed=seed)
