"""Journeys of one to three legs, planned with a generated timetable and hotels; plans are checked by rule."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from handaxe.core.errors import InputError, Retry, TaskError
from handaxe.core.metrics import RatioMetric
from handaxe.core.protocols import Check, EnvFactory
from handaxe.core.records import Criterion, Message, Task, Trajectory
from handaxe.envs.task_router import task_router
from handaxe.envs.tool_chat import tool_chat
from handaxe.ops.seeds import derive_seed
from handaxe.papers.deeptravel.cached import Use, cached
from handaxe.papers.deeptravel.journeys_plans import (
    Timetable,
    best_plan,
    halves,
    has_distinct_names,
    is_feasible,
    plan_names,
    routes,
)
from handaxe.rewards.outcome import outcome
from handaxe.tools.decorator import Tool, tool
from handaxe.worlds.parts.answering import is_text_answer
from handaxe.worlds.parts.call_metrics import wasted_calls
from handaxe.worlds.parts.reference_calls import reference_calls
from handaxe.worlds.world import Facts, Split, Start, World

__all__ = ["each_reply", "journeys", "plan_agreement"]

Town = Annotated[int, "number of a town, 10 to 99"]
START = Start(skill=360, steps=0, batch_size=8)
SHORT = 6
"""Maximum trains of a journey with names of one digit."""
USES: dict[Split, Use] = {"train": "training", "test": "evaluation"}


def journeys(
    *,
    legs: tuple[int, ...] = (1, 2, 3),
    choices: int = 2,
    slack: int = 9,
    digits: int = 1,
    ordered: bool = True,
    brief: bool = True,
    cache: str = "",
    world_seed: int = 0,
) -> World:
    """Plan journeys: a train per leg and a hotel per town, in time and within a budget.

    Two typed tools list trains and hotels. A plan is correct if each train leaves after the previous arrival, the total
    price is within the budget, and every train and hotel occurs in a tool result: a lucky guess is incorrect.

    Args:
        legs: numbers of legs, each 1 to 3; drawn evenly.
        choices: trains per leg and hotels per town, 2 to 4.
        slack: budget above the cheapest hotels and the trains, 0 to 9; every other hotel costs more than the slack.
        digits: digits of a name, 1 to 3; one is enough for up to six trains. The tiny policy learns to copy one digit,
            and confuses longer names with hours and prices.
        ordered: lists begin with the earliest arrival and with the cheapest hotel; otherwise lists have no order. The
            feasibility of a train is never plan_names.
        brief: questions in key words, for the tiny policy; otherwise sentences.
        cache: folder of recorded tool results, in separate files for training and test; "" calls the tools.
        world_seed: seed of towns, timetable and hotels.

    Returns:
        A world broken down by "legs". Gauges: unfounded (share of names in plans that occur in no tool result) and
        wasted_calls. Training and test have different towns.

    Raises:
        InputError: an argument out of range, or an unusable cache.

    Example:
        "41 73 28 for 180?": trains {"start": 41, "to": 73} returns "t4 07-09 30, t5 14-17 30", hotels {"town": 73}
        returns "h7 25, h3 60", and so on; "t4 h7 t9 h1"

    Paper: arXiv:2509.21842 (DeepTravel), its travel planning and its sandbox.
    Unconfirmed: what its sandbox holds.
    Differs: all data is generated, and a rule decides correctness instead of a language model.
    """
    if not legs or not set(legs) <= {1, 2, 3} or not 2 <= choices <= 4 or not 0 <= slack <= 9:
        raise InputError(f"legs 1 to 3, choices 2 to 4, slack 0 to 9: {list(legs)}, {choices}, {slack}")
    if not 1 <= digits <= 3 or (digits == 1 and max(legs) * choices > SHORT):
        raise InputError(
            f"names have 1 to 3 digits, and 2 or more for journeys of more than {SHORT} trains: {digits} for "
            f"{max(legs)} legs of {choices}"
        )
    table = Timetable(seed=world_seed, choices=choices, digits=digits, ordered=ordered)
    key = ("journeys", world_seed, choices, slack, digits, int(ordered))
    tools = {split: _with_cache(_tools(table), cache, use) for split, use in USES.items()}

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        if count < 1:
            raise TaskError(f"a data set of {count} tasks is empty; give a count of 1 or more")
        names = ["-".join(map(str, (*key, seed, split, number))) for number in range(count)]
        return [_task(name, table, split, legs, slack, brief, world_seed) for name in names]

    def env(offered: Sequence[Any]) -> EnvFactory:
        return task_router("split", {split: tool_chat([*own, *offered]) for split, own in tools.items()})

    def right(one: Trajectory) -> bool:
        asked, plan = one.task.metadata, plan_names(one.final_text)
        return _unfounded(one) == 0 and is_feasible(table, asked["route"], asked["budget"], plan)

    return World(
        name="journeys",
        tasks=tasks,
        env=env,
        correct=outcome(right),
        breakdown=("legs",),
        is_answer=is_text_answer,
        reference=reference_calls,
        expert=_expert,
        start=START if brief and choices == 2 and digits == 1 and ordered else None,
        gauges={
            "unfounded": RatioMetric(
                lambda one, outcome: float(_unfounded(one)), lambda one, outcome: float(len(plan_names(one.final_text)))
            ),
            "wasted_calls": wasted_calls(reference_calls),
        },
    )


def each_reply(trajectory: Trajectory) -> list[Criterion]:
    """Create a criterion per tool result, for `rubric_points(items=...)`: agreement of the plan with the result."""
    return [Criterion(f"reply {k}", f"The plan agrees with reply {k}.") for k, _ in enumerate(trajectory.replies)]


def plan_agreement() -> Check:
    """Create a rule for the agreement of a plan with each tool result: the plan takes exactly one of the plan_names
    items.

    An empty or repeated result agrees with no plan.

    Example:
        "t417 07-09 30, t582 14-17 30" and "h310 60, h744 25", plan "t417": True, False
    """

    def check(trajectory: Trajectory, criteria: Sequence[Criterion]) -> np.ndarray:
        plan, met_CN = plan_names(trajectory.final_text), np.zeros((len(criteria), len(trajectory.turns)), bool)
        listed_names = [set(_names(reply.content)) for reply in trajectory.replies]
        met = [len(own & set(plan)) == 1 and own not in listed_names[:k] for k, own in enumerate(listed_names)]
        for c, one in enumerate(criteria):
            met_CN[c, -1:] = met[int(one.name.removeprefix("reply "))]
        return met_CN

    return check


def _expert(task: Task, facts: Facts) -> Message:
    """Expert with the partial plan beside each call, so that every turn begins with the previous turn's text.

    A tiny policy that has to collect all names from old results in its last turn confuses them.
    """
    turn = facts["turn"]
    return Message("assistant", " ".join(task.answer.split()[:turn]), reference_calls(task)[turn : turn + 1])


def _tools(table: Timetable) -> list[Tool]:
    def known(*towns: int) -> None:
        for town in towns:
            if not 10 <= town <= 99:
                raise Retry(f"there is no town {town}")
        if len(set(towns)) < len(towns):
            raise Retry("give two different towns")

    def trains(start: Town, to: Town) -> str:
        """List trains: name, hours, price."""
        known(start, to)
        return ", ".join(one.to_text for one in table.trains(start, to))

    def hotels(town: Town) -> str:
        """List hotels: name, price."""
        known(town)
        return ", ".join(one.to_text for one in table.hotels(town))

    return [tool(timeout=None)(trains), tool(timeout=None)(hotels)]


def _with_cache(tools: Sequence[Tool], cache: str, use: Use) -> list[Tool]:
    return [cached(one, path=Path(cache) / f"{use}.sqlite", use=use) if cache else one for one in tools]


def _task(
    name: str, table: Timetable, split: Split, legs: Sequence[int], slack: int, brief: bool, world_seed: int
) -> Task:
    rng = random.Random(derive_seed(name))
    length = rng.choice(list(legs))
    towns = halves(world_seed)[0 if split == "train" else 1]
    found = ((route, best_plan(table, route)) for route in routes(towns, length, rng))
    route, (plan, cost) = next(
        (route, best) for route, best in found if best is not None and has_distinct_names(table, route)
    )
    budget = cost + slack
    calls: list[dict[str, Any]] = []
    for start, to in itertools.pairwise(route):
        calls.append({"name": "trains", "arguments": {"start": start, "to": to}})
        calls.append({"name": "hotels", "arguments": {"town": to}})
    metadata = {"split": split, "legs": length, "route": route, "budget": budget, "gold_calls": calls}
    asked = f"{' '.join(map(str, route))} for {budget}?" if brief else _sentence(route, budget)
    return Task(name, (Message("user", asked),), " ".join(plan), ("trains", "hotels"), metadata)


def _sentence(route: Sequence[int], budget: int) -> str:
    way = " and then ".join(f"to town {town}" for town in route[1:])
    return (
        f"Plan a journey of one day from town {route[0]} {way}, with a hotel in every town that is reached, for at "
        f"most {budget} in all. Say the names of trains and hotels alone, in order, with spaces between them."
    )


def _names(reply: str) -> list[str]:
    return [part.split()[0] for part in reply.split(",") if part.strip()]


def _unfounded(one: Trajectory) -> int:
    said = {name for reply in one.replies if reply.status == "ok" for name in _names(reply.content)}
    return sum(name not in said for name in plan_names(one.final_text))
