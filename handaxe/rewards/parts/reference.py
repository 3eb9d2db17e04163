"""Readers of `Task.answer` for rewards with a reference.

Example:
    Task(answer="Paris")                                         gold_answers -> ("Paris",)
    Task(answer=["Paris", "Paris, France"])                      gold_answers -> both; each of them is correct
    Task(answer=[{"name": "f", "arguments": {"x": 1}}])          gold_calls   -> (ToolCall("f", {"x": 1}),)
    Task(answer={"state": {"balance": 5}, "calls": [...]})       gold_state   -> {"balance": 5}
Idea: a task without a usable reference is a fault of the data, so it raises TaskError and is never a reward of 0.
"""

import re
import string
from collections.abc import Mapping
from typing import Any

from handaxe.core.errors import TaskError
from handaxe.core.records import Task, ToolCall

__all__ = ["gold_answers", "gold_calls", "gold_state", "normalise"]


def gold_answers(task: Task) -> tuple[str, ...]:
    """The reference answers as text: a single answer or several, each correct.

    Raises:
        TaskError: no answer, or one that is neither text, nor a number, nor a list of these.
    """
    golds = task.answer if isinstance(task.answer, (list, tuple)) else [task.answer]
    if not golds or not all(isinstance(gold, (str, int, float)) for gold in golds):
        raise TaskError(f"task {task.id!r} has the answer {task.answer!r}; give text, a number, or a list of them")
    return tuple(str(gold) for gold in golds)


def gold_calls(task: Task) -> tuple[ToolCall, ...]:
    """The reference calls, in order: `answer`, or its entry "calls"; () for a task without calls.

    Raises:
        TaskError: `answer` is no list of calls {"name": text, "arguments": object}.
    """
    listed = task.answer.get("calls") if isinstance(task.answer, Mapping) else task.answer
    if not isinstance(listed, (list, tuple)):
        raise TaskError(f"task {task.id!r} has no list of reference calls in its answer: {task.answer!r}")
    return tuple(_gold_call(task, one) for one in listed)


def gold_state(task: Task) -> Mapping[str, Any]:
    """The wanted final state: the entry "state" of `answer`, attribute -> value.

    Raises:
        TaskError: the entry is missing or empty.
    """
    state = task.answer.get("state") if isinstance(task.answer, Mapping) else None
    if not isinstance(state, Mapping) or not state:
        raise TaskError(f"task {task.id!r} has no entry 'state' in its answer: {task.answer!r}")
    return state


def normalise(text: str) -> str:
    """Normalize a text as SQuAD does: lower case, without punctuation, articles and extra white space.

    Example:
        "The  Eiffel Tower!" -> "eiffel tower"
    """
    kept = "".join(letter for letter in text.lower() if letter not in string.punctuation)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", kept).split())


def _gold_call(task: Task, one: Any) -> ToolCall:
    if isinstance(one, ToolCall):
        return one
    if isinstance(one, Mapping) and isinstance(one.get("name"), str) and isinstance(one.get("arguments"), Mapping):
        return ToolCall(one["name"], one["arguments"])
    raise TaskError(f"task {task.id!r}: {one!r} is not a call; give {{'name': text, 'arguments': object}}")
