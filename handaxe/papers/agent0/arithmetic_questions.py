"""Arithmetic for a policy with a second task, writing questions.

Example:
    read_question("What is the product of 23 and 41") is the task "23*41=?" without an answer

Idea: questions in words have clusters, operations in a wording, which the repetition penalty of Agent0
(arXiv:2511.16043) can tell apart.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import replace

from handaxe.core.protocols import Curriculum
from handaxe.core.records import Message, Task
from handaxe.curricula.task_pool import task_pool
from handaxe.ops.seeds import derive_seed
from handaxe.worlds.arithmetic import START as ARITHMETIC_START
from handaxe.worlds.arithmetic import arithmetic
from handaxe.worlds.parts import arithmetic_tasks
from handaxe.worlds.world import World

__all__ = [
    "OPENING",
    "arithmetic_questions",
    "draw_expression",
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
WORDINGS = (
    "What is the {operation} of {left} and {right}",
    "Tell me the {operation} of {left} and {right}",
    "Take {left} and {right} and find the {operation}",
    "If I have {left} and {right}, their {operation} is",
)
"""Forms of a question, such as "What is the sum of 23 and 41"."""
SIGNS = ("+",) * 6 + ("-",) * 3 + ("*",)
"""Operations that the start policy asks for: of ten questions six sums, three differences, one product."""


def write_question(expression: str, number: int) -> str:
    """Write an expression in words, in one of the four wordings by turns.

    Example:
        "23*41", 0 -> "What is the product of 23 and 41";  "23*41", 3 -> "If I have 23 and 41, their product is"
    """
    left, operator, right = re.split(r"([-+*])", expression)
    named = next(name for name, sign in OPERATIONS.items() if sign == operator)
    return WORDINGS[number % len(WORDINGS)].format(operation=named, left=left, right=right)


def draw_expression(rng: random.Random) -> str:
    """Draw a problem of the training split for the start policy: operands of one or two digits, mostly sums.

    Tasks have two operands of one digit, or of two and three; so a tenth of the start's questions at most are like the
    harder half of the tasks, and the proposer has to find these.

    Example:
        "7+41"
    """
    while True:
        left, right = (rng.randrange(10 ** rng.randint(1, 2)) for _ in range(2))
        expression = f"{left}{rng.choice(SIGNS)}{right}"
        if arithmetic_tasks.problem_split(expression) == "train":
            return expression


QUESTIONS = tuple(
    (PROMPT, write_question(draw_expression(random.Random(derive_seed("asked", number))), number))
    for number in range(400)
)
START = ARITHMETIC_START._replace(warmup=(*ARITHMETIC_START.warmup, *QUESTIONS))
FORMS = tuple(
    re.compile(
        one.format(
            operation=rf"(?P<operation>{'|'.join(OPERATIONS)})", left=r"(?P<left>\d{1,4})", right=r"(?P<right>\d{1,4})"
        )
    )
    for one in WORDINGS
)


def arithmetic_questions(*, easy: float = 0.5, last_number: bool = False) -> World:
    """`arithmetic` with a start policy that replies to `OPENING` with a question in words, see `draw_expression`.

    There are three operations and four wordings. In `papers.agent0.repetition` two questions with one operation in one
    of the first two wordings are near copies, whatever their numbers, and in the other two wordings if they share a
    number.

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
    matches = (one.fullmatch(text.strip()) for one in FORMS)
    found = next((one for one in matches if one is not None), None)
    if found is None or any(len(number) > 1 and number[0] == "0" for number in found.group("left", "right")):
        return None
    expression = f"{found['left']}{OPERATIONS[found['operation']]}{found['right']}"
    return Task(f"asked-{expression}", (Message("user", f"{expression}=?"),), metadata={"expression": expression})


def is_training_question(task: Task) -> bool:
    """Check whether a question's problem belongs to the training split."""
    return arithmetic_tasks.problem_split(str(task.metadata["expression"])) == "train"


def unlabelled_pool(tasks: Sequence[Task], seed: int) -> Curriculum:
    """Create a pool of tasks without answers; a stage replaces them before training."""
    bare = [replace(one, answer="", metadata={**one.metadata, "score": 0.0}) for one in tasks]
    return task_pool(bare, seed=seed)
