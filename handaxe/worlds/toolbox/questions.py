"""Questions of bfcl-eval as tasks, and chains of questions with earlier results as later arguments."""

from __future__ import annotations

import functools
import itertools
import random
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from handaxe.core.records import Message, Task, ToolCall
from handaxe.ops.seeds import derive_seed
from handaxe.worlds.bfcl.matching import first_accepted, matches
from handaxe.worlds.bfcl.notation import NOTATIONS
from handaxe.worlds.bfcl.package import SINGLE_TURN
from handaxe.worlds.bfcl.tasks import all_tasks
from handaxe.worlds.toolbox.catalogue import Catalogue, ToolEntry, function_split, name_words, stub_value
from handaxe.worlds.world import Split

__all__ = [
    "ArgumentSlot",
    "CallQuestion",
    "LONGEST_QUERY",
    "accepts",
    "build_task",
    "full_tasks",
    "make_step",
    "split_questions",
]

LONGEST_QUERY = 500
"""Character limit of a query."""
CHAINED = ("simple_python", "multiple", "live_simple", "live_multiple")
"""Categories with single calls in JSON, for chains."""
LONGEST = 400
"""Character limit of a question in a chain."""
LAST = (
    "Find a tool for each step with find_tools, and call it with call_tool. <1> stands for the result of step 1. Reply "
    "with the result of the last step alone."
)
ALL = (
    "Find the tools with find_tools, and call them with call_tool. Reply with the results of the calls alone, "
    "separated by commas."
)


class ArgumentSlot(NamedTuple):
    """Place for an earlier result: a parameter, the start and end of its value in the text, and whether it is text."""

    parameter: str
    start: int
    end: int
    textual: bool


class CallQuestion(NamedTuple):
    """CallQuestion of the package with its accepted calls.

    documents: descriptions of the offered functions. slots: places for an earlier result, where the text has the value
    of a parameter once; () outside the categories of chains.
    """

    id: str
    category: str
    text: str
    accepted: tuple[Mapping[str, Any], ...]
    documents: tuple[Mapping[str, Any], ...]
    slots: tuple[ArgumentSlot, ...]


@functools.lru_cache(maxsize=2)
def split_questions(split: Split) -> tuple[CallQuestion, ...]:
    """Read the questions with reference calls of a split: all functions of the reference calls are in the split.

    Questions with several messages, and texts with functions of both splits, are excluded.
    """
    found: list[CallQuestion] = []
    other: set[str] = set()
    for category in SINGLE_TURN:
        for task in all_tasks(category):
            functions = {name for one in task.answer for name in one}
            splits = {function_split(name) for name in functions}
            if not functions or len(task.messages) > 1 or task.messages[0].role != "user":
                continue
            if splits == {split}:
                found.append(_question(task))
            else:
                other.add(task.messages[0].content)
    return tuple(one for one in found if one.text not in other)


def full_tasks(
    catalogue: Catalogue, *, kind: str, lengths: Sequence[int], results: int, split: Split, count: int, seed: int
) -> list[Task]:
    """Create tasks in prose: questions of the package, or chains of them.

    The package has similar functions under several names. In a chain, the text of a question as query ranks the correct
    tool first: among similar tools, the best match is correct. In a question of the package, any of the results may be
    correct.

    Args:
        catalogue: of all schemas.
        kind: "question" or "chain".
        lengths: calls of a chain, drawn evenly.
        results: tools in a search result; the query of a question's step finds the tool.
        split, count, seed: as for `World.tasks`.
    """
    if kind == "question":
        questions = list(split_questions(split))
        random.Random(derive_seed("toolbox questions", split, seed)).shuffle(questions)
        made = (_question_task(catalogue, one, results) for one in questions)
        return list(itertools.islice((task for task in made if task is not None), count))
    return [_chain_task(catalogue, lengths, split, seed, number) for number in range(count)]


def make_step(
    name: str, function: str, category: str, accepted: Mapping[str, Any], arguments: Mapping[str, Any], query: str
) -> dict[str, Any]:
    """Create a step of a task, as JSON: the tool, accepted and reference arguments, a query for the tool, and the
    result."""
    return {
        "name": name,
        "function": function,
        "category": category,
        "accepted": accepted,
        "arguments": arguments,
        "query": query,
        "value": stub_value(function, arguments),
    }


def accepts(step: Mapping[str, Any], entry: ToolEntry, arguments: Mapping[str, Any]) -> bool:
    """Compare a call of a tool with the accepted call of a step, by the package's rule."""
    function = step["function"]
    if entry.function != function:
        return False
    documents = [{**entry.document, "name": function}]
    return matches([ToolCall(function, arguments)], [{function: step["accepted"]}], documents, entry.notation)


def _question(task: Task) -> CallQuestion:
    documents = {one["name"]: one for one in task.metadata["functions"]}
    text, category = task.messages[0].content, task.metadata["category"]
    chained = category in CHAINED and len(text) <= LONGEST
    slots = _slots(text, task.answer[0], documents) if chained else ()
    return CallQuestion(task.id, category, text, tuple(task.answer), tuple(documents.values()), slots)


def _slots(text: str, accepted: Mapping[str, Any], documents: Mapping[str, Any]) -> tuple[ArgumentSlot, ...]:
    ((function, parameters),) = accepted.items()
    found = []
    for name, values in parameters.items():
        described, value = documents[function]["parameters"]["properties"][name], values[0]
        others = " ".join(str(one) for key, one in parameters.items() if key != name)
        if described["type"] not in ("integer", "float", "string") or "enum" in described or str(value) in others:
            continue
        if isinstance(value, str | int | float) and not isinstance(value, bool) and value != "":
            places = list(re.finditer(rf"(?<![\w.,]){re.escape(str(value))}(?!\w|[.,]\d)", text))
            if len(places) == 1:
                found.append(ArgumentSlot(name, places[0].start(), places[0].end(), described["type"] == "string"))
    return tuple(found)


def _steps(
    catalogue: Catalogue, question: CallQuestion, text: str, results: int, *, described: bool
) -> list[dict[str, Any]] | None:
    """Steps of a question; None if no query finds a tool that accepts the reference arguments. Queries are the text
    and, with `described`, the function's description and the words of its name."""
    steps = []
    for accepted in question.accepted:
        ((function, parameters),) = accepted.items()
        document = next(one for one in question.documents if one["name"] == function)
        arguments = first_accepted(accepted, question.documents, NOTATIONS.get(question.category)).arguments
        queries = [text, *([document["description"], " ".join(name_words(function))] if described else [])]
        step = make_step("", function, question.category, parameters, arguments, "")
        found = (
            {**step, "name": entry.name, "query": query}
            for query in queries
            if len(query) <= LONGEST_QUERY
            for entry in catalogue.find(query, results)
            if accepts(step, entry, arguments) and catalogue.call(entry.name, arguments).status == "ok"
        )
        chosen = next(found, None)
        if chosen is None:
            return None
        steps.append(chosen)
    return steps


def _question_task(catalogue: Catalogue, question: CallQuestion, results: int) -> Task | None:
    steps = _steps(catalogue, question, question.text, results, described=True)
    if steps is None:
        return None
    return build_task(f"toolbox-{question.id}", f"{question.text}\n{ALL}", steps, steps)


def _chain_task(catalogue: Catalogue, lengths: Sequence[int], split: Split, seed: int, number: int) -> Task:
    rng = random.Random(derive_seed("toolbox chain", split, seed, number))
    length = rng.choice(lengths)
    pool = [one for one in split_questions(split) if one.slots]
    texts: list[str] = []
    steps: list[dict[str, Any]] = []
    while len(steps) < length:
        question = rng.choice(pool)
        text = question.text
        if steps:
            question, text = _filled(question, rng.choice(question.slots), len(steps), steps[-1]["value"])
        made = _steps(catalogue, question, text, 1, described=False)
        if made is not None and made[0]["function"] not in {one["function"] for one in steps}:
            steps += made
            texts.append(f"{len(steps)}. {text}")
    return build_task(f"toolbox-chain-{split}-{seed}-{number}", "\n".join([*texts, LAST]), steps, steps[-1:])


def _filled(question: CallQuestion, slot: ArgumentSlot, step: int, value: int) -> tuple[CallQuestion, str]:
    """The question with the result of a step as argument, and its text with <step> in that place."""
    ((function, parameters),) = question.accepted[0].items()
    accepted = {function: {**parameters, slot.parameter: [str(value) if slot.textual else value]}}
    return question._replace(accepted=(accepted,)), f"{question.text[: slot.start]}<{step}>{question.text[slot.end :]}"


def build_task(name: str, text: str, steps: Sequence[Mapping[str, Any]], asked: Sequence[Mapping[str, Any]]) -> Task:
    """Create a task. Its answer has the results of the steps `asked`, separated by ", "."""
    metadata = {"length": len(steps), "steps": list(steps)}
    answer = ", ".join(str(one["value"]) for one in asked)
    return Task(name, (Message("user", text),), answer, None, metadata)
