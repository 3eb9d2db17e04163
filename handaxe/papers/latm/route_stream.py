"""A mixed stream of questions, routed to tools that are made on the way."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from handaxe.core.records import Task
from handaxe.ops.seeds import derive_seed
from handaxe.papers.latm.dispatcher import dispatch
from handaxe.papers.latm.make_tool import WrappedTool, make_tool
from handaxe.tools.building_blocks import TEXT_BLOCKS
from handaxe.tools.library import ToolLibrary
from handaxe.tools.program_search import ProgramMaker
from handaxe.worlds.parts import reasoning_gym

__all__ = ["FAMILIES", "RoutedStream", "SHOWN", "family_tasks", "question_text", "route_stream"]

FAMILIES = (
    "gcd", "lcm", "count_bits", "fraction_simplification", "spell_backward", "word_sequence_reversal",
    "letter_counting", "prime_factorization",
)  # fmt: skip
CONFIG: dict[str, dict[str, Any]] = {"fraction_simplification": {"styles": ("plain",)}}
SHOWN = 3
"""Worked questions of the maker, and as many of the verification."""


class RoutedStream(NamedTuple):
    """Questions of all families in a drawn order, the kind that each was routed to, and the tools that were made.

    costs: programs that the maker evaluated for each family.
    """

    tasks: list[Task]
    routes: list[str | None]
    tools: Mapping[str, WrappedTool | None]
    costs: Mapping[str, int]
    library: ToolLibrary


def family_tasks(family: str, count: int, seed: int, split: reasoning_gym.Split) -> list[Task]:
    """Make questions of a family.

    Example:
        family_tasks("gcd", 6, 0, "train"): six questions about greatest common divisors

    Idea: generated questions with the generator's scorer.
    """
    config = {name: value for name, value in CONFIG.items() if name == family}
    return reasoning_gym.tasks(family, count=count, seed=seed, split=split, config=config)


def route_stream(shown: Mapping[str, Sequence[Task]], questions: int, most: int, seed: int) -> RoutedStream:
    """Dispatch a mixed stream of test questions; a new family goes to the maker with its worked questions.

    Args:
        shown: worked questions of each family, as many for the maker as for the verification.
        questions: of a family.
        most: programs that the maker evaluates for a ticket.
        seed: of questions and order.

    Example:
        questions 2: 16 questions in a drawn order; the first of a family has the route None

    Paper: arXiv:2305.17126 (LATM), the dispatcher with a cache of tools.
    Differs: families are known to the maker by their worked questions.
    """
    stream = [one for name in FAMILIES for one in family_tasks(name, questions, seed, "test")]
    random.Random(derive_seed("latm", seed)).shuffle(stream)
    maker = ProgramMaker(TEXT_BLOCKS, most=most)
    library, known = ToolLibrary(), dict[str, list[str]]()
    tools, costs = dict[str, WrappedTool | None](), dict[str, int]()
    routes = list[str | None]()
    for task in stream:
        route, family = dispatch(question_text(task), known), task.metadata["generator"]
        routes.append(route)
        if route is None and family not in tools:
            before = maker.tried
            own = shown[family]
            tools[family] = make_tool(family, maker, library, own[:SHOWN], own[SHOWN:])
            costs[family] = maker.tried - before
            known[family] = [question_text(one) for one in own]
    return RoutedStream(stream, routes, tools, costs, library)


def question_text(task: Task) -> str:
    """Return the text of a question."""
    return task.messages[-1].content
