"""Tools with many questions each, and requests that join questions of different tools."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from handaxe.core.errors import InputError
from handaxe.ops.seeds import derive_seed
from handaxe.worlds.bfcl.matching import first_accepted
from handaxe.worlds.bfcl.tasks import all_tasks
from handaxe.worlds.toolbox.catalogue import ToolEntry
from handaxe.worlds.toolbox.labelled_requests import LabelledRequest, function_catalogue
from handaxe.worlds.toolbox.questions import accepts, make_step

__all__ = ["QuestionSplit", "join_requests", "split_questions_of_tools"]

CATEGORIES = ("live_multiple", "live_simple", "simple_python", "multiple")
LONGEST = 200
"""Character limit of a question."""
MOST_OF_TOOL = 24
"""Questions of a tool; the package has up to 94."""
LEAST_OF_TOOL = 4
"""Questions of a tool with held-out ones."""


class QuestionSplit(NamedTuple):
    """Tools, and requests of one call for training and test. Tools without a question are known by documents alone."""

    tools: tuple[ToolEntry, ...]
    train: tuple[LabelledRequest, ...]
    test: tuple[LabelledRequest, ...]


def split_questions_of_tools(tools: int, seed: int) -> QuestionSplit:
    """Choose the tools with the most questions, and hold out every fourth question of a tool with four or more.

    Args:
        tools: number of tools, 1 or more.
        seed: of the choice of held-out questions.

    Returns:
        Tools in the order of their names; texts of train and test differ.

    Example:
        a tool with 9 questions has 7 in train and 2 in test; a tool with 3 has all in train

    Raises:
        InputError: tools below 1, or a missing package.
    """
    if tools < 1:
        raise InputError(f"give 1 tool or more, not {tools}")
    found = _questions()
    order = sorted(found, key=lambda name: (-len(found[name]), name))[:tools]
    train: list[LabelledRequest] = []
    test: list[LabelledRequest] = []
    for name in sorted(order):
        own = list(found[name])
        random.Random(derive_seed("tool questions", name, seed)).shuffle(own)
        own = own[:MOST_OF_TOOL]
        held = len(own) // 4 if len(own) >= LEAST_OF_TOOL else 0
        test += own[:held]
        train += own[held:]
    entries = function_catalogue().entries
    return QuestionSplit(tuple(entries[name] for name in sorted(order)), tuple(train), tuple(test))


def join_requests(requests: Sequence[LabelledRequest], count: int, seed: int) -> list[LabelledRequest]:
    """Join one or two requests of different tools by a line.

    Args:
        requests: at least two, of different tools.
        count: number of joined requests.
        seed: of the choice.

    Example:
        "Play Roar." and "Find a bus." -> "Play Roar.\\nFind a bus." with the steps of both
    """
    rng = random.Random(derive_seed("joined requests", seed))
    made: list[LabelledRequest] = []
    while len(made) < count:
        own = rng.sample(list(requests), rng.choice((1, 2)))
        if len({one.needed for one in own}) == len(own):
            steps = tuple(step for one in own for step in one.steps)
            made.append(LabelledRequest("+".join(one.id for one in own), "\n".join(one.text for one in own), steps))
    return made


def _questions() -> Mapping[str, list[LabelledRequest]]:
    """Tool -> its questions of a single call that the catalogue's schema accepts; all tools, in the package's order."""
    catalogue = function_catalogue()
    names = {entry.function: name for name, entry in catalogue.entries.items()}
    found: dict[str, list[LabelledRequest]] = {name: [] for name in catalogue.entries}
    texts: set[str] = set()
    for category in CATEGORIES:
        for task in all_tasks(category):
            text = task.messages[0].content
            if (
                len(task.messages) > 1
                or len(task.answer) != 1
                or not text.strip()
                or len(text) > LONGEST
                or text in texts
            ):
                continue
            ((function, parameters),) = task.answer[0].items()
            arguments = first_accepted(task.answer[0], task.metadata["functions"], None).arguments
            step = make_step(names[function], function, "", parameters, arguments, text)
            entry = catalogue.entries[names[function]]
            if accepts(step, entry, arguments) and catalogue.call(entry.name, arguments).status == "ok":
                texts.add(text)
                found[entry.name].append(LabelledRequest(task.id, text, (step,)))
    return found
