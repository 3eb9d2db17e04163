"""Scenes of minigrid as images: which object opens the door, or "None" if the tool is absent or does not fit."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

from handaxe.core.errors import InputError
from handaxe.core.images import Image
from handaxe.core.metrics import RatioMetric
from handaxe.core.records import Message, Task, Trajectory
from handaxe.envs.tool_chat import tool_chat
from handaxe.ops.seeds import derive_seed
from handaxe.rewards.answer_score import answer_score
from handaxe.rewards.parts.extract import final_text
from handaxe.worlds.parts.answering import is_text_answer
from handaxe.worlds.parts.check_split import check_count
from handaxe.worlds.parts.content_split import content_split
from handaxe.worlds.world import DemonstrationNoise, Facts, Split, Start, World

__all__ = ["LEVELS", "NONE", "Thing", "draw_scene", "tool_scenes"]

Level = Literal["recognition", "attribute", "availability", "creation"]
LEVELS: tuple[Level, ...] = ("recognition", "attribute", "availability", "creation")
NONE = "None"
"""Answer where no object opens the door."""
SIDE = 4
"""Tiles of a side of a scene."""
TILE = 8
"""Pixels of a side of a tile: one token of the packaged policy."""
COLOURS = ("blue", "green", "purple", "red", "yellow")
OTHERS = ("ball", "box")
PLACES = [(x, y) for y in range(SIDE) for x in range(SIDE)]
START = Start(DemonstrationNoise(), skill=400, steps=0, batch_size=32, learning_rate=2e-3)


class Thing(NamedTuple):
    """An object: door, key, ball or box; its colour; the column and row of its tile."""

    kind: str
    colour: str
    x: int
    y: int


def tool_scenes(*, levels: tuple[Level, ...] = LEVELS) -> World:
    """Questions about the tool for a locked door, on images of 4 by 4 tiles; the answer is a tile or "None".

        recognition    the only key                                                         "key?"
        attribute      the key in the door's colour, beside a key of another colour         "open?"
        availability   "None": keys, but none in the door's colour                          "open?"
        creation       the box in the door's colour, which holds the missing key            "open?"

    The three levels with the question "open?" differ in the scene alone.

    Args:
        levels: drawn evenly.

    Returns:
        A world without tools, broken down by "level". Gauge: misfit, the share of answers on availability that name an
        object. No pair of places of door and answer is in both splits.

    Raises:
        InputError: no levels, or an unknown one; minigrid or Pillow is missing (extras [grid] and [images]).

    Example:
        a red door, a blue key at column 1 and row 2, a green ball: "open?" is "None"

    Paper: arXiv:2510.09507 (PhysToolBench), its three levels; "None" where a tool is absent or broken.
    Unconfirmed: attribute and availability as kinds of the middle level, from memory.
    """
    if not levels or not set(levels) <= set(LEVELS):
        raise InputError(f"levels are some of {', '.join(LEVELS)}: {levels}")

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        check_count(split, count)
        return [_task(split, seed, number, levels) for number in range(count)]

    return World(
        name="tool_scenes",
        tasks=tasks,
        env=lambda tools: tool_chat(list(tools)),
        correct=answer_score(scorer=lambda task, text: float(text.strip() == task.answer)),
        breakdown=("level",),
        hidden_keys=("things",),
        is_answer=is_text_answer,
        expert=_expert,
        start=START,
        start_model="tiny_vision",
        gauges=GAUGES,
    )


def draw_scene(things: Sequence[Thing]) -> Image:
    """Draw a scene with minigrid's tiles, [32, 32] pixels.

    Raises:
        InputError: minigrid is missing (extra [grid]).
    """
    grid_of, made = _minigrid()
    grid = grid_of(SIDE, SIDE)
    for thing in things:
        grid.set(thing.x, thing.y, made[thing.kind](thing.colour))
    return Image.of(grid.render(TILE, (-1, -1), None))


def _task(split: Split, seed: int, number: int, levels: Sequence[Level]) -> Task:
    rng = random.Random(derive_seed("tool scenes", split, seed, number))
    level = rng.choice(tuple(levels))
    things = _draw_things(rng, level)
    while _split(things) != split:
        things = _draw_things(rng, level)
    answer = NONE if level == "availability" else f"{things[1].x} {things[1].y}"
    asked = Message.of("user", "key?" if level == "recognition" else "open?", draw_scene(things))
    metadata = {"level": level, "things": [list(thing) for thing in things]}
    return Task(f"tool-scenes-{split}-{seed}-{number}", (asked,), answer, metadata=metadata)


def _draw_things(rng: random.Random, level: Level) -> list[Thing]:
    """Door, answer (for availability, a key that does not fit), and two further objects."""
    colour, *others = rng.sample(COLOURS, 4)
    other = rng.choice(OTHERS)
    kinds: dict[Level, list[tuple[str, str]]] = {
        "recognition": [("key", rng.choice(COLOURS)), ("ball", others[0]), ("box", others[1])],
        "attribute": [("key", colour), ("key", others[0]), (other, others[1])],
        "availability": [("key", others[0]), ("key", others[1]), (other, others[2])],
        "creation": [("box", colour), ("key", others[0]), ("ball", others[1])],
    }
    places = rng.sample(PLACES, 4)
    found = [("door", colour), *kinds[level]]
    return [Thing(kind, tint, *place) for (kind, tint), place in zip(found, places, strict=True)]


def _split(things: Sequence[Thing]) -> Split:
    door, answer = things[0], things[1]
    return content_split("tool scenes split", door.x, door.y, answer.x, answer.y)


def _expert(task: Task, facts: Facts) -> Message:
    del facts
    return Message("assistant", str(task.answer))


def _minigrid() -> tuple[Callable[[int, int], Any], dict[str, Callable[[str], Any]]]:
    """Import the grid, and a maker of each kind of object."""
    try:
        from minigrid.core.grid import Grid
        from minigrid.core.world_object import Ball, Box, Door, Key
    except ImportError as error:
        raise InputError(
            'the world tool_scenes draws tiles of minigrid, which is missing: pip install "handaxe[grid,images]"'
        ) from error
    return Grid, {"door": lambda colour: Door(colour, is_locked=True), "key": Key, "ball": Ball, "box": Box}


def _unavailable(trajectory: Trajectory) -> float:
    return float(trajectory.task.metadata["level"] == "availability")


GAUGES = {
    "misfit": RatioMetric(
        lambda one, outcome: _unavailable(one) * float(any(letter.isdigit() for letter in final_text(one))),
        lambda one, outcome: _unavailable(one),
    ),
}
"""Metrics of every evaluation."""
