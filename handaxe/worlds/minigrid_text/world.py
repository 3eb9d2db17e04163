"""Small grids of the package minigrid in text form: a key, a door, a goal, and actions without effect."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.metrics import RatioMetric
from handaxe.core.protocols import EnvFactory
from handaxe.core.records import Criterion, Message, Task, ToolCall, Trajectory
from handaxe.core.requests import EnvReply
from handaxe.envs.tool_chat import tool_chat
from handaxe.envs.wrapper import AsyncEnvWrapper
from handaxe.ops.seeds import derive_seed
from handaxe.rewards.outcome import outcome
from handaxe.worlds.minigrid_text.grid import KINDS, WORDS, GridGame, GridStart, Kind, start_grid, state_to_json
from handaxe.worlds.minigrid_text.shortest_path import LOCKED, OPEN, GridState, shortest, spoils
from handaxe.worlds.parts.check_split import check_count
from handaxe.worlds.parts.content_split import content_split
from handaxe.worlds.parts.met_by_turn import met_by_turn
from handaxe.worlds.world import Expert, Facts, Split, Start, World

__all__ = ["minigrid_text"]

Marks = Literal["goals", "path"]
START = Start(skill=120, steps=0, batch_size=16, learning_rate=2e-3)
DETOURS = 1.2
"""Turns of a demonstration per action of the longest shortest path."""
SHORT = 12
"""Turns that fit into the tiny policy's own context."""
TURN_TOKENS = 44
"""Upper limit of the mean number of tokens of a turn and its reply, in key words."""


def minigrid_text(
    *,
    kind: Kind = "doorkey",
    size: int | None = None,
    longest: int = 10,
    astray: float = 0.25,
    marks: Marks = "goals",
    grids: int = 400,
    brief: bool = True,
) -> World:
    """Grids of minigrid from the agent's point of view: reach the goal, or pick up the ball.

    A rollout is correct if the grid is solved, in any number of actions. The tool `act` takes one of six words of
    minigrid; an action without effect, such as walking into a wall, returns "nothing happens" as a failure. The text
    describes minigrid's view: six cells ahead of the agent, three to each side, nothing behind the agent, walls or
    doors.

    Args:
        kind: doorkey (a key, a door it opens, and the goal behind it), fourrooms, or keycorridor (as doorkey, but the
            key lies in another room, and has to be put down before the ball can be picked up). Longer: multiroom (rooms
            in a row with closed doors), crossing (walls with gaps), unlockpickup (as doorkey, and a box to pick up),
            blockedunlockpickup (a ball blocks the door), obstructedmaze (the key may be in a box), lockedroom.
        size: of doorkey the side, 5 to 8 or 16, walls included; of keycorridor the rows of rooms, 1 to 3; of multiroom
            the rooms, 2 to 6; of crossing the side, 5, 7, 9 or 11; of obstructedmaze 1 to 3; None: the smallest.
        longest: maximum length of a shortest path; grids with longer paths are excluded.
        astray: share of random actions of the expert, 0 to below 1; training is to remove them.
        marks: criteria of the world: "goals", key, door and end; or "path", an action nearer to the end than ever
            before, so that a rule-based judge (`earned_steps`) gives verdicts by the shortest path.
        grids: number of grids, 50 or more; about a quarter is in test. Longer task lists repeat grids.
        brief: describe the view in key words, which the tiny policy can learn to read.

    Returns:
        A world broken down by "length", the actions of a shortest path, with the gauges actions (number), executed
        (share of effective calls) and left (missing actions at the end; all of the start if the box is destroyed). Turn
        facts and the report hold the state. Give rollouts some turns more than `longest`; 12 fit into the tiny policy's
        context, and the cold-start checkpoint of a larger `longest` has a longer context.

    Raises:
        InputError: an argument out of range, no grid with a path this short, or a missing package (extra [grid]).

    Example:
        "goal. a1 key f2 locked r1" and act("forward") -> "key f1", act("pickup") -> "a1 +key"
    """
    if kind not in KINDS:
        raise InputError(f"a grid is one of {', '.join(KINDS)}, not {kind!r}")
    side = KINDS[kind].sizes[0] if size is None else size
    if side not in KINDS[kind].sizes:
        raise InputError(f"{kind} has one of the sizes {list(KINDS[kind].sizes)}, not {size}")
    if longest < 1 or not 0 <= astray < 1 or marks not in ("goals", "path") or grids < 50:
        raise InputError(
            "longest is 1 or more, astray from 0 to below 1, marks goals or path and grids 50 or more: they are "
            f"{longest}, {astray}, {marks!r} and {grids}"
        )
    begin = _cached_starts(kind, side, brief)
    turns = max(SHORT, math.ceil(DETOURS * longest))

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        check_count(split, count)
        return [_task(begin, (kind, side, brief), split, seed, n, longest, grids) for n in range(count)]

    def env(tools: Sequence[Any]) -> EnvFactory:
        tool_chat(tools)  # raises early for bad tools
        return lambda task: _GridEnv(task, tools, GridGame(kind, side, task.metadata["grid"], brief=brief))

    def distance(task: Task, facts: Facts) -> int | None:
        """Actions of a shortest path from a state; None without a path."""
        way = shortest(begin(task.metadata["grid"]).ways, _state(facts))
        return None if way is None else len(way)

    def missing(one: Trajectory) -> int:
        found = distance(one.task, one.env["state"]["GridGame"])
        return one.task.metadata["length"] if found is None else found

    def first(task: Task) -> GridStart:
        return begin(task.metadata["grid"])

    return World(
        name="minigrid_text",
        tasks=tasks,
        env=env,
        correct=outcome(lambda one: float(_final(one, "won"))),
        breakdown=("length",),
        hidden_keys=("drawing",),
        expert=_expert(begin, astray),
        start=START if brief else None,
        start_turns=turns,
        start_context=512 if turns <= SHORT else TURN_TOKENS * turns,
        criteria=_steps if marks == "path" else _goals(first),
        check=_check(first, distance),
        gauges={
            "actions": RatioMetric(lambda one, right: float(_final(one, "steps"))),
            "executed": RatioMetric(
                lambda one, right: float(_final(one, "done")), lambda one, right: float(len(one.calls))
            ),
            "left": RatioMetric(lambda one, right: float(missing(one))),
        },
    )


def _cached_starts(kind: Kind, size: int, brief: bool) -> Callable[[int], GridStart]:
    """Cached starts of grids by seed."""
    known: dict[int, GridStart] = {}

    def begin(seed: int) -> GridStart:
        if seed not in known:
            known[seed] = start_grid(kind, size, seed, brief=brief)
        return known[seed]

    return begin


def _task(
    begin: Callable[[int], GridStart],
    variant: tuple[Kind, int, bool],
    split: Split,
    seed: int,
    number: int,
    longest: int,
    grids: int,
) -> Task:
    kind, size, brief = variant
    rng = random.Random(derive_seed("minigrid", kind, size, longest, split, seed, number))
    for grid in rng.sample(range(grids), grids):
        made = begin(grid)
        mine: Split = content_split("minigrid split", made.drawing)
        if mine == split and len(made.way) <= longest:
            break
    else:
        raise InputError(f"of {grids} grids of {kind}, size {size}, none to {split} has a way of {longest} acts")
    words = f"{KINDS[kind].brief}. {made.seen}"
    if not brief:
        words = f"You are in a grid and act by calling the tool. {KINDS[kind].long} {made.seen}"
    metadata = {"grid": grid, "length": len(made.way), "drawing": made.drawing}
    return Task(f"minigrid-{kind}-{size}-{split}-{seed}-{number}", (Message("user", words),), None, None, metadata)


def _expert(begin: Callable[[int], GridStart], astray: float) -> Expert:
    def expert(task: Task, facts: Facts) -> Message:
        made = begin(task.metadata["grid"])
        state = _state(facts) if "at" in facts else made.state
        way = shortest(made.ways, state)
        if not way or "act" not in facts["tools"]:
            return Message("assistant", "I give up")
        rng = random.Random(derive_seed("astray", task.id, facts["turn"]))
        word = rng.choice(WORDS) if rng.random() < astray else way[0]
        if spoils(made.ways, state, word):
            word = way[0]
        return Message("assistant", "", (ToolCall("act", {"word": word}),))

    return expert


def _state(facts: Facts) -> GridState:
    """Inverse of `state_to_json`."""
    lie = tuple(None if one is None else (one[0], one[1]) for one in facts["lie"])
    return GridState((facts["at"][0], facts["at"][1]), facts["facing"], facts["holds"], lie, tuple(facts["doors"]))


def _goals(first: Callable[[Task], GridStart]) -> Callable[[Task], list[Criterion]]:
    def criteria(task: Task) -> list[Criterion]:
        names, doors = dict[str, str](), first(task).state.doors
        if LOCKED in doors:
            names = {"key": "It holds the key.", "door": "The locked door is open."}
        else:
            names = {f"door {n}": f"Door {n} is open." for n, state in enumerate(doors) if state != OPEN}
        return [Criterion(name, text) for name, text in {**names, "end": "It is where it was to get."}.items()]

    return criteria


def _steps(task: Task) -> list[Criterion]:
    return [Criterion(f"{n} left", f"It is {n} acts from the end.") for n in reversed(range(task.metadata["length"]))]


def _check(
    first: Callable[[Task], GridStart], distance: Callable[[Task, Facts], int | None]
) -> Callable[..., np.ndarray]:
    """Check criteria by rule from the states after each turn; met criteria stay met."""

    def met(trajectory: Trajectory, name: str, facts: Facts) -> bool:
        made, state = first(trajectory.task), _state(facts)
        if name == "end":
            return state.ended(made.ways)
        if name == "key":
            return state.holds >= 0 and made.ways.things[state.holds][0] == "key"
        if name == "door":
            return state.doors[made.state.doors.index(LOCKED)] == OPEN
        if name.startswith("door "):
            return state.doors[int(name.split()[1])] == OPEN
        left = distance(trajectory.task, facts)
        return left is not None and left <= int(name.split()[0])

    def check(trajectory: Trajectory, criteria: Sequence[Criterion]) -> np.ndarray:
        return met_by_turn(trajectory, criteria, lambda facts: [met(trajectory, one.name, facts) for one in criteria])

    return check


def _final(one: Trajectory, name: str) -> Any:
    return one.env["state"]["GridGame"][name]


class _GridEnv(AsyncEnvWrapper):
    """Conversation with tools until the grid is solved."""

    def __init__(self, task: Task, tools: Sequence[Any], game: GridGame):
        super().__init__(tool_chat([lambda: game, *tools])(task))
        self._game = game

    def transform_reply(self, reply: EnvReply) -> EnvReply:
        return reply._replace(done=reply.done or self._game.is_over, facts=state_to_json(self._game.state))
