"""Mixture of several worlds, interleaved by weight."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from handaxe.core.errors import InputError
from handaxe.core.protocols import EnvFactory
from handaxe.core.records import Message, Task
from handaxe.envs.task_router import task_router as env_by_task
from handaxe.rewards.dispatch import dispatch as reward_by_task
from handaxe.worlds.parts.check_split import check_count
from handaxe.worlds.world import Facts, Split, World

__all__ = ["PART", "mixture"]

PART = "part"
"""Key of task metadata with the name of the world that a task is from."""


def mixture(
    parts: Mapping[str, World], *, weights: Mapping[str, int] | None = None, name: str = "mixture", dense: bool = True
) -> World:
    """Interleave the tasks of several worlds; each task is played and scored as in its own world.

    Tasks follow a cycle in which each world occurs `weights` times in a row. Default tools are those of all worlds;
    the offered tools go to the worlds that have tools.

    Args:
        parts: worlds by name. A name goes into the metadata "part" of the world's tasks.
        weights: tasks per cycle of each world, >= 1; None: 1 each.
        name: of the mixture.
        dense: task k of a world is its task number k. False: it is the one whose number is the position in the mixture,
            so that tasks at the positions of other worlds are skipped.

    Returns:
        A world broken down by "part", with an expert if every world has one. It has no start.

    Raises:
        InputError: no world, or weights that do not fit the worlds.

    Example:
        mixture({"sum": arithmetic(), "fact": hops()}, weights={"sum": 2, "fact": 1}) asks sum, sum, fact, sum, sum, ...
    """
    counts = dict.fromkeys(parts, 1) if weights is None else dict(weights)
    if not parts or set(counts) != set(parts) or not all(count >= 1 for count in counts.values()):
        raise InputError(f"mixture needs one world or more and a weight of 1 or more for each: {list(parts)}, {counts}")
    cycle = [part for part in parts for _ in range(counts[part])]
    complete = all(world.expert is not None for world in parts.values())

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        check_count(split, count)
        order = [cycle[position % len(cycle)] for position in range(count)]
        sizes = {part: max(1, order.count(part)) if dense else count for part in parts}
        lists = {part: world.tasks(split, sizes[part], seed) for part, world in parts.items()}
        used = dict.fromkeys(parts, 0)
        made = []
        for position, part in enumerate(order):
            one = lists[part][used[part] if dense else position]
            used[part] += 1
            made.append(replace(one, metadata={**one.metadata, PART: part}))
        return made

    def env(tools: Sequence[Any]) -> EnvFactory:
        return env_by_task(PART, {part: world.env(tools if world.tools else ()) for part, world in parts.items()})

    def expert(task: Task, facts: Facts) -> Message:
        message: Message = parts[task.metadata[PART]].need("expert")(task, facts)
        return message

    return World(
        name=name,
        tasks=tasks,
        env=env,
        correct=reward_by_task(key=PART, rewards={part: world.correct for part, world in parts.items()}),
        tools=tuple(dict.fromkeys(tool for world in parts.values() for tool in world.tools)),
        breakdown=(PART,),
        expert=expert if complete else None,
    )
