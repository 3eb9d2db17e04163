"""Question to a referee: scores of several answers to one task, and the reader of its reply."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from string import ascii_lowercase

from handaxe.core.errors import InputError
from handaxe.core.records import Task

__all__ = ["HIGHEST", "LOWEST", "REFEREE", "question_fields", "read_scores", "write_scores"]

REFEREE = "urpo/referee"
"""Prompt of ranking tasks and of the referee."""
LOWEST, HIGHEST = 1, 5
"""Scale of the scores."""
SCORE = re.compile(r"([a-z])([1-5])")
SHOWN = 2000
"""Characters of an answer that the referee reads."""


def question_fields(task: Task, answers: Sequence[str]) -> dict[str, str]:
    """Fields of the prompt: the task's last message, and the answers, one a line, each a letter and a JSON string.

    Raises:
        InputError: more answers than letters, 26.

    Example:
        "hi 1st", answers "35" and "b"  ->  task 'hi 1st', answers 'a"35"' and 'b"b"' on two lines

    Paper: arXiv:2507.17515 (URPO), an instruction with N answers in one prompt.
    Differs: answers are JSON strings, so that none can end its line or add an answer.
    """
    if len(answers) > len(ascii_lowercase):
        raise InputError(f"a referee scores {len(ascii_lowercase)} answers at most, not {len(answers)}: give fewer")
    lines = [letter + json.dumps(one[:SHOWN], ensure_ascii=False) for letter, one in zip(ascii_lowercase, answers)]
    return {"task": task.messages[-1].content, "answers": "\n".join(lines)}


def write_scores(scores: Sequence[int]) -> str:
    """Write scores as a referee does.

    Example:
        3, 5  ->  "a3 b5"

    Idea: the expert of ranking tasks writes what `read_scores` reads.
    """
    return " ".join(f"{letter}{score}" for letter, score in zip(ascii_lowercase, scores))


def read_scores(text: str, count: int) -> tuple[int, ...] | None:
    """Read the scores of `count` answers.

    Args:
        text: of the referee: the letters in order, each with a score from 1 to 5, with spaces between them.
        count: of the answers.

    Returns:
        The scores, in order; None for a reply of another form, order, number or scale.

    Example:
        "a4 b4 c2", 3  ->  (4, 4, 2);  "a4 b4", 3  ->  None;  "a4 b4 c6", 3  ->  None

    Paper: arXiv:2507.17515 (URPO), scores of N answers in one reply.
    Unconfirmed: the form of the reply, and the scale of 1 to 5.
    """
    found = [SCORE.fullmatch(word) for word in text.split()]
    letters = "".join(one[1] if one else "" for one in found)
    if letters != ascii_lowercase[:count] or len(found) != count:
        return None
    return tuple(int(one[2]) for one in found if one)
