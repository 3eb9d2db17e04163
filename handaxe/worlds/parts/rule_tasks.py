"""Tasks of reasoning-gym that show worked examples of a rule: lists of numbers, and rows of colors."""

from __future__ import annotations

import ast
import random
import re
from typing import Any, NamedTuple

from handaxe.core.errors import TaskError
from handaxe.core.records import Task
from handaxe.ops.seeds import derive_seed
from handaxe.tools.library import ToolCase
from handaxe.worlds.parts import reasoning_gym
from handaxe.worlds.world import Split

__all__ = ["RuleTask", "answer_text", "is_correct", "rule_tasks"]

PAIR = {
    "list_functions": re.compile(r"^Input \d+: (.*)\nOutput \d+: (.*)$", re.MULTILINE),
    "arc_1d": re.compile(r"^Input:  (.*)\nOutput: (.*)$", re.MULTILINE),
}
QUERY = {
    "list_functions": re.compile(r"^Input: (.*)\nOutput:", re.MULTILINE),
    "arc_1d": re.compile(r"^Input:\n(.*)", re.MULTILINE),
}


class RuleTask(NamedTuple):
    """Task with the examples and the query of its question.

    task      of reasoning-gym
    examples  worked examples that the question shows, with the argument xs
    query     the argument xs of the question
    rule      name of the rule of "arc_1d", hidden from a solver; "" for "list_functions"
    """

    task: Task
    examples: tuple[ToolCase, ...]
    query: dict[str, Any]
    rule: str


def rule_tasks(generator: str, *, count: int, seed: int, split: Split = "train", rules: str = "") -> list[RuleTask]:
    """Make tasks of "list_functions" or "arc_1d", and read examples and query from the text of the question.

    Args:
        generator: "list_functions", 17 rules and 4 examples, or "arc_1d", 70 rules and 3 examples.
        count: number of tasks.
        seed: of the tasks.
        split: train or test, by a digest of the question.
        rules: pattern that the name of a rule of "arc_1d" matches from its start; "" for all.

    Raises:
        TaskError: another generator, or too few tasks of the rules. InputError: reasoning-gym is not installed.

    Example:
        rule_tasks("arc_1d", count=1, seed=0, rules="gravity_left")[0].rule == "gravity_left"
    """
    if generator not in PAIR:
        raise TaskError(f"there are rules of {' and '.join(PAIR)}, not of {generator!r}")
    drawn = count
    while True:
        tasks = _draw(generator, drawn, seed, split)
        found = [one for one in (_read(task, generator) for task in tasks) if re.match(rules, one.rule)]
        if len(found) >= count:
            return found[:count]
        if drawn > 50 * count + 1000:
            raise TaskError(f"{len(found)} of {drawn} tasks of {generator} have rules {rules!r}: give another pattern")
        drawn *= 2


def answer_text(generator: str, value: Any) -> str:
    """Write a value as an answer of the generator: "[1, 2]" of a list, "1 2" of a row."""
    return str(value) if generator == "list_functions" else " ".join(map(str, value))


def is_correct(one: RuleTask, value: Any) -> bool:
    """Return True if the generator's scorer gives full marks to a value; None and other types are wrong."""
    if not isinstance(value, list) or not all(isinstance(number, int) for number in value):
        return False
    text = answer_text(one.task.metadata["generator"], value)
    return reasoning_gym.is_full_score(one.task, text) == 1.0


def _draw(generator: str, count: int, seed: int, split: Split) -> list[Task]:
    """Draw tasks; one rule of "list_functions" uses the global generator of random numbers."""
    state = random.getstate()
    random.seed(derive_seed("rule_tasks", generator, seed, split))
    try:
        return reasoning_gym.tasks(generator, count=count, seed=seed, split=split)
    finally:
        random.setstate(state)


def _read(task: Task, generator: str) -> RuleTask:
    text = task.messages[-1].content
    examples = tuple(ToolCase({"xs": _numbers(one)}, _numbers(other)) for one, other in PAIR[generator].findall(text))
    query = QUERY[generator].search(text)
    assert query is not None, "every question has a query"
    return RuleTask(task, examples, {"xs": _numbers(query[1])}, str(task.metadata["entry"].get("task_name", "")))


def _numbers(text: str) -> list[int]:
    return list(ast.literal_eval(text)) if text.startswith("[") else [int(one) for one in text.split()]
