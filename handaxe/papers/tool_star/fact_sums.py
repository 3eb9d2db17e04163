"""Looked-up numbers, half of which are to be reckoned with: some questions take two tools, the others one."""

from __future__ import annotations

import random
from typing import Any

from handaxe.core.metrics import RatioMetric
from handaxe.core.records import Message, Task, Trajectory
from handaxe.envs.tool_chat import tool_chat
from handaxe.ops.seeds import derive_seed
from handaxe.rewards.exact_match import exact_match
from handaxe.tools.calculator import calculator
from handaxe.worlds.parts import people_facts as facts_tasks
from handaxe.worlds.parts.experts import arithmetic_call
from handaxe.worlds.parts.people_facts import Asked, build_people, fact_cards, search_call
from handaxe.worlds.parts.search_tools import answers_in_words, gold_searches, search_tool
from handaxe.worlds.sums import kept_calls
from handaxe.worlds.world import DemonstrationNoise, Facts, Split, Start, World

__all__ = ["BOTH", "fact_sums"]

BOTH = ("search", "calculator")
SHOWN = 5
"""In one of so many questions that need no calculator the expert takes it all the same."""
START = Start(DemonstrationNoise(needed=0.6, clumsy=0.05), skill=200, steps=30, batch_size=16)


def fact_sums(*, size: int = 200, world_seed: int = 0) -> World:
    """Questions for a number that has to be looked up, or for what it is when multiplied.

    Hard ones multiply two numbers of two digits, easy ones ask for the number as it is. The policy that training starts
    from was shown six in ten of the calls that are needed, and a calculation in one easy question of five.

    Args:
        size: people, 8 to 900; a quarter of them is asked of in tests alone.
        world_seed: of the facts.

    Returns:
        A world broken down by "needs_both" (yes or no), scored by exact match. Gauge used_both: the share of attempts
        in which a search and a calculation both went well.

    Raises:
        InputError: an argument out of range, or a missing package (extra [search]).

    Example:
        "417 desk*38?": search {"query": "417 desk"} finds "[417 desk] 52", calculator {"expression": "52*38"} says
        "1976", and that is the answer;  "417 rank?": the search finds "[417 rank] 7", and the answer is "7"
    """
    people = build_people(seed=world_seed, size=size)

    def ask(name: str, rng: random.Random) -> Asked:
        hard = rng.random() < 0.5
        field, other = ("desk", rng.randint(11, 99)) if hard else ("rank", 1)
        value, rest = people.facts[name, field], f"*{other}" if hard else ""
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
        return f"{name} {field}{rest}?", str(value * other), metadata

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        key = ("fact_sums", world_seed, size)
        return facts_tasks.tasks(people, key=key, count=count, seed=seed, split=split, ask=ask)

    return World(
        name="fact_sums",
        tasks=tasks,
        env=tool_chat,
        correct=exact_match(),
        tools=(search_tool(fact_cards(people), world="fact_sums", results=1, snippet=20), calculator),
        by=("needs_both",),
        answered=answers_in_words,
        reference=kept_calls,
        expert=_expert,
        start=START,
        gauges={"used_both": RatioMetric(lambda one, outcome: float(_went_well(one) >= set(BOTH)))},
    )


def _expert(task: Task, facts: Facts) -> Message:
    if facts["turn"] == 0 and (searches := gold_searches(task, facts)):
        return Message("assistant", "", (searches[0],))
    shown = task.metadata["needs_both"] == "yes" or derive_seed("shown", task.id) % SHOWN == 0
    others = [name for name in facts["tools"] if name != "search"]
    if facts["turn"] == 1 and shown and (call := arithmetic_call(task.metadata["expression"], others)):
        return Message("assistant", "", call)
    return Message("assistant", task.answer)


def _went_well(one: Trajectory) -> set[str]:
    return {reply.name for reply in one.replies if reply.status == "ok"}
