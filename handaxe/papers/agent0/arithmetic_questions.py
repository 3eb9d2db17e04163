"""Arithmetic for a policy with a second task, writing questions.

Example:
    read_question("What is the product of 23 and 41") is the task "23*41=?" without an answer

Idea: questions in words have clusters, operations in an opening, which the repetition penalty of Agent0
(arXiv:2511.16043) can tell apart.
"""

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

__all__ = [
    "OPENING",
    "arithmetic_questions",
    "is_training_question",
    "read_question",
    "unlabelled_pool",
    "write_question",
]

PROMPT = "Ask a question."
"""The proposer's prompt; no task uses it."""
OPENING = Task("propose", (Message("user", PROMPT),))
"""The proposer's task."""
OPERATIONS = {"sum": "+", "difference": "-", "product": "*"}
OPENINGS = ("What is", "Tell me")
"""Beginnings of a question, such as "What is the sum of 23 and 41"."""


def write_question(expression: str, number: int) -> str:
    """Write an expression in words, in one of the two openings by turns.

    Example:
        "23*41", 0 -> "What is the product of 23 and 41";  "23*41", 1 -> "Tell me the product of 23 and 41"
    """
    left, operator, right = re.split(r"([-+*])", expression)
    named = next(name for name, sign in OPERATIONS.items() if sign == operator)
    return f"{OPENINGS[number % len(OPENINGS)]} the {named} of {left} and {right}"


QUESTIONS = tuple(
    (PROMPT, write_question(str(task.metadata["expression"]), number))
    for number, task in enumerate(arithmetic_tasks.tasks(count=400, seed=0, split="train", easy=0.5))
)
START = ARITHMETIC_START._replace(warmup=(*ARITHMETIC_START.warmup, *QUESTIONS))
QUESTION = re.compile(rf"({'|'.join(OPENINGS)}) the ({'|'.join(OPERATIONS)}) of (\d{{1,4}}) and (\d{{1,4}})")


def arithmetic_questions(*, easy: float = 0.5, last_number: bool = False) -> World:
    """`arithmetic` with a start policy that replies to `OPENING` with a question in words; half are easy.

    There are three operations and two openings, such as "What is the sum of 23 and 41" and "Tell me the product of 6
    and 7". Two questions with one operation and one opening have a BLEU distance of about 0.46 in
    `papers.agent0.repetition`, and a cluster is a way to ask.

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
    """Parse a question about two whole numbers of at most four digits. Return None for any other text.

    The task has the question as an expression, and no answer.

    Example:
        "What is the product of 23 and 41" -> the task "23*41=?";  "twice 41" -> None
    """
    found = QUESTION.fullmatch(text.strip())
    if found is None or any(len(number) > 1 and number[0] == "0" for number in found.group(3, 4)):
        return None
    expression = f"{found[3]}{OPERATIONS[found[2]]}{found[4]}"
    return Task(f"asked-{expression}", (Message("user", f"{expression}=?"),), metadata={"expression": expression})


def is_training_question(task: Task) -> bool:
    """Check whether a question's problem belongs to the training split."""
    return arithmetic_tasks.problem_split(str(task.metadata["expression"])) == "train"


def unlabelled_pool(tasks: Sequence[Task], seed: int) -> Curriculum:
    """Create a pool of tasks without answers; a stage replaces them before training."""
    bare = [replace(one, answer="", metadata={**one.metadata, "score": 0.0}) for one in tasks]
    return task_pool(bare, seed=seed)
