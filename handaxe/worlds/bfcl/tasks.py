"""Questions of `bfcl-eval` as tasks."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from typing import Any

from handaxe.core.records import Message, Task
from handaxe.worlds.bfcl.matching import first_accepted, matches
from handaxe.worlds.bfcl.notation import NOTATIONS
from handaxe.worlds.bfcl.package import MULTI_TURN, parse_call, read_answers, read_descriptions, read_questions
from handaxe.worlds.parts.content_split import content_split
from handaxe.worlds.world import Split

__all__ = ["all_tasks", "question_split"]

CALL_IS_RIGHT = "live_relevance"
"""Category with every call correct; in the categories that end in irrelevance no call is correct."""

DOMAINS = {
    "GorillaFileSystem": "files",
    "TradingBot": "trading",
    "TravelAPI": "travel",
    "VehicleControlAPI": "vehicle",
}
"""Main simulator of a multi-turn question -> domain. Every question has one of them, most of them another simulator."""


@functools.lru_cache(maxsize=32)
def all_tasks(category: str) -> tuple[Task, ...]:
    """Create every solvable task of a category, in the package's order.

    Six of 2,501 single-turn questions are excluded: their answers name a parameter missing in the schema, accept no
    value for a required parameter, or expect numbers in a Java list whose elements are read as text.

    Multi-turn tasks have metadata category, domain, number, classes (the simulators), functions (None: all of them),
    config (their first state), later (the user's later turns, each a list of texts), held_back (turn -> functions that
    the user announces then) and gold (the answer's calls by turn). The others have category, functions (their
    descriptions) and gold. The task's answer is the package's own.
    """
    if category in MULTI_TURN:
        made = [_conversation(category, *pair) for pair in zip(read_questions(category), read_answers(category))]
        return tuple(made)
    answers = {one["id"]: one["ground_truth"] for one in read_answers(category)}
    single = [_single(category, one, answers.get(one["id"], [])) for one in read_questions(category)]
    return tuple(task for task in single if task is not None)


def question_split(task: Task) -> Split:
    """Return the split of a question, independent of the seed: about one in four is in test.

    The four variants of a multi-turn question have the same split, and so has a question in several categories. The
    multi-turn questions of a scenario, joined by equal first states of a simulator, have the split of the first.
    """
    number = task.metadata.get("number")
    key = [each.content for each in task.messages] if number is None else _split_keys()[number]
    return content_split("bfcl split", json.dumps(key))


@functools.lru_cache(maxsize=1)
def _split_keys() -> list[Any]:
    """Number of a multi-turn question -> first text of the user in the first question of its scenario."""
    questions = read_questions(MULTI_TURN[0])
    first = list(range(len(questions)))
    known: dict[str, int] = {}
    for number, one in enumerate(questions):
        for name, state in one["initial_config"].items():
            if name != "MathAPI":  # no state
                _join(first, known.setdefault(json.dumps([name, state], sort_keys=True), number), number)
    return [questions[_root(first, number)]["question"][0] for number in range(len(questions))]


def _join(first: list[int], one: int, other: int) -> None:
    low, high = sorted((_root(first, one), _root(first, other)))
    first[high] = low


def _root(first: Sequence[int], number: int) -> int:
    while first[number] != number:
        number = first[number]
    return number


def _conversation(category: str, question: Mapping[str, Any], answer: Mapping[str, Any]) -> Task:
    parameters = {
        one["name"]: list(one["parameters"]["properties"])
        for name in question["involved_classes"]
        for one in read_descriptions(name)
    }
    first, *later = [[said["content"] for said in turn] for turn in question["question"]]
    gold = [[parse_call(call, parameters) for call in turn] for turn in answer["ground_truth"]]
    metadata = {
        "category": category,
        "domain": next(domain for name, domain in DOMAINS.items() if name in question["involved_classes"]),
        "number": int(question["id"].rpartition("_")[2]),
        "classes": question["involved_classes"],
        "functions": None,
        "config": question["initial_config"],
        "later": later,
        "held_back": question.get("missed_function", {}),
        "gold": gold,
    }
    messages = tuple(Message("user", text) for text in first)
    return Task(question["id"], messages, answer["ground_truth"], None, metadata)


def _single(category: str, question: Mapping[str, Any], answer: Sequence[Any]) -> Task | None:
    functions = question["function"]
    notation = NOTATIONS.get(category)
    gold = [first_accepted(one, functions, notation) for one in answer]
    if answer and not matches(gold, answer, functions, notation):
        return None
    calls = [{"name": call.name, "arguments": call.arguments} for call in gold]
    if category == CALL_IS_RIGHT:
        calls = [{"name": functions[0]["name"].replace(".", "_"), "arguments": {}}]
    messages = tuple(Message(said["role"], said["content"]) for said in question["question"][0])
    return Task(question["id"], messages, answer, None, {"category": category, "functions": functions, "gold": calls})
