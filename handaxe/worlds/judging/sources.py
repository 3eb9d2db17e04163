"""Worlds whose tasks are judged, each with a careless speaker and the work of a judge."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from handaxe.core.records import Task
from handaxe.worlds.judging.candidates import Speaker
from handaxe.worlds.judging.links import links, path
from handaxe.worlds.judging.words import words
from handaxe.worlds.world import World

__all__ = ["JudgedSource", "SOURCES", "link_source", "word_source"]

CARELESS = 0.5
"""Probability of a slip."""


class JudgedSource(NamedTuple):
    """A world whose tasks are judged.

    type     as the judge names it: R for reasoning, C for chat
    world    tasks and oracle
    speaker  answers, correct or not
    standard  (task) -> what a judge writes before it looks at the candidates: a solution or a rubric, whose last
              character is that of a correct answer alone
    """

    type: str
    world: World
    speaker: Speaker
    standard: Callable[[Task], str]


def link_source() -> JudgedSource:
    """Two links to follow in a table; a careless answer follows those of another start.

    Start and other start are drawn alike, so no property of the answers alone tells right from wrong. The standard is
    the solution: the digits after one and two links.

    Example:
        "3421 1": the standard is "32", the correct answer "12", and a careless one "13" (of start 4: 1, 3)
    """

    def speaker(task: Task, rng: random.Random) -> str:
        start = task.metadata["start"]
        read = task.metadata["other"] if rng.random() < CARELESS else start
        return f"{start}{path(task.metadata['table'], read)[1]}"

    def standard(task: Task) -> str:
        return "".join(map(str, path(task.metadata["table"], task.metadata["start"])))

    return JudgedSource("R", links(), speaker, standard)


def word_source() -> JudgedSource:
    """Words of the two digits of a request; a careless word has them in the wrong order.

    The standard is the rubric: the last digit.

    Example:
        "w: 1..4": the standard is "4", the correct answer "14", and a careless one "41"
    """

    def speaker(task: Task, rng: random.Random) -> str:
        first, last = task.metadata["first"], task.metadata["last"]
        return f"{last}{first}" if rng.random() < CARELESS else f"{first}{last}"

    return JudgedSource("C", words(), speaker, lambda task: str(task.metadata["last"]))


SOURCES: Mapping[str, Callable[[], JudgedSource]] = MappingProxyType({"links": link_source, "words": word_source})
"""Kind of a judged task -> its source."""
