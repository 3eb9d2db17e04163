"""Numbers to look up and, in half of the questions, to multiply."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

from handaxe.core.errors import InputError
from handaxe.core.metrics import RatioMetric
from handaxe.core.records import Message, Task, ToolCall, Trajectory
from handaxe.ops.seeds import derive_seed
from handaxe.tools.calculator import calculator
from handaxe.worlds.parts.experts import arithmetic_call
from handaxe.worlds.parts.people_facts import (
    People,
    PersonQuestion,
    build_people,
    fact_cards,
    people_world,
    search_call,
)
from handaxe.worlds.parts.search_tools import reference_searches
from handaxe.worlds.world import DemonstrationNoise, Facts, Start, World

__all__ = ["BOTH", "fact_products"]

BOTH = ("search", "calculator")
NEEDLESS_PERIOD = 5
"""One in this many questions without a product has a calculator call of the expert."""
START = Start(DemonstrationNoise(call_rate=0.6, corrupt_rate=0.05), skill=200, steps=30, batch_size=16)
USED_BOTH = RatioMetric(lambda one, outcome: float(_successful_tools(one) >= set(BOTH)))
STATED_CALLS = RatioMetric(lambda one, outcome: len(one.calls) * _is_stated(one), lambda one, outcome: _is_stated(one))
STATED_START = Start(DemonstrationNoise(0.6, 0.5, 0.05), skill=200, steps=30, batch_size=16)


def fact_products(*, size: int = 200, world_seed: int = 0, stated: float = 0.0) -> World:
    """Questions for a number to look up, or for its product with another number.

    Hard questions multiply two numbers of two digits; easy ones ask for the number itself. Demonstrations of the start
    policy make six in ten of the needed calls, and calculate in one easy question of five. A stated question has the
    fact in its text and needs no tool; half of the demonstrations search nevertheless.

    Args:
        size: number of people, 8 to 900; a quarter occurs in test questions only.
        world_seed: seed of the facts.
        stated: share of stated questions, 0 to 1.

    Returns:
        A world broken down by "needs_both" (yes or no), scored by exact match; with stated questions also by "stated".
        Gauge used_both: the share of rollouts with a successful search and a successful calculation. With stated
        questions, stated_calls: calls for a stated question.

    Raises:
        InputError: an argument out of range, or a missing package (extra [search]).

    Example:
        "417 desk*38?": search {"query": "417 desk"} finds "[417 desk] 52", calculator {"expression": "52*38"} returns
        "1976", which is the answer;  "417 rank?": the search finds "[417 rank] 7", and the answer is "7"
    """
    if not 0 <= stated <= 1:
        raise InputError(f"stated is {stated}; give a share from 0 to 1")
    people = build_people(seed=world_seed, size=size)

    def ask(name: str, rng: random.Random) -> PersonQuestion:
        if stated and rng.random() < stated:
            return _stated(name, people)
        hard = rng.random() < 0.5
        field, factor = ("desk", rng.randint(11, 99)) if hard else ("rank", 1)
        value, rest = people.facts[name, field], f"*{factor}" if hard else ""
        expression = f"{value}{rest}"
        calls: list[dict[str, Any]] = [search_call(name, field)]
        if hard:
            calls.append({"name": "calculator", "arguments": {"expression": expression}})
        metadata = {
            "needs_both": "yes" if hard else "no",
            "expression": expression,
            "gold_documents": [f"{name} {field}"],
            "gold_calls": calls,
        }
        return PersonQuestion(f"{name} {field}{rest}?", str(value * factor), metadata)

    lookups = people_world("fact_sums", size=size, world_seed=world_seed, ask=ask, cards=fact_cards(people))
    return replace(
        lookups,
        name="fact_products",
        tools=(*lookups.tools, calculator),
        breakdown=("needs_both", "stated") if stated else ("needs_both",),
        expert=_expert,
        start=STATED_START if stated else START,
        gauges={"used_both": USED_BOTH, **({"stated_calls": STATED_CALLS} if stated else {})},
    )


def _stated(name: str, people: People) -> PersonQuestion:
    """A question for a rank that its text states."""
    value = people.facts[name, "rank"]
    metadata = {
        "needs_both": "no",
        "stated": "yes",
        "expression": str(value),
        "gold_documents": [f"{name} rank"],
        "gold_calls": [],
    }
    return PersonQuestion(f"{name} rank is {value}. {name} rank?", str(value), metadata)


def _expert(task: Task, facts: Facts) -> Message:
    if task.metadata.get("stated") == "yes":
        search = not facts.get("sure", True) and facts["turn"] == 0 and "search" in facts["tools"]
        calls = (ToolCall("search", {"query": task.metadata["gold_documents"][0]}),) if search else ()
        return Message("assistant", "" if search else task.answer, calls)
    if facts["turn"] == 0 and (searches := reference_searches(task, facts)):
        return Message("assistant", "", (searches[0],))
    calculates = task.metadata["needs_both"] == "yes" or derive_seed("shown", task.id) % NEEDLESS_PERIOD == 0
    calculators = [name for name in facts["tools"] if name != "search"]
    if facts["turn"] == 1 and calculates and (call := arithmetic_call(task.metadata["expression"], calculators)):
        return Message("assistant", "", call)
    return Message("assistant", task.answer)


def _is_stated(one: Trajectory) -> float:
    return float(one.task.metadata.get("stated") == "yes")


def _successful_tools(one: Trajectory) -> set[str]:
    return {reply.name for reply in one.replies if reply.status == "ok"}
