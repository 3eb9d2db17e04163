"""Mixture of several worlds, interleaved by weight."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from handaxe.core.errors import InputError
from handaxe.core.metrics import RatioMetric
from handaxe.core.protocols import EnvFactory
from handaxe.core.records import Message, Task, Trajectory
from handaxe.curricula.interleaved import interleaved
from handaxe.envs.task_router import task_router as env_by_task
from handaxe.envs.tool_chat import tool_chat
from handaxe.rewards.dispatch import dispatch as reward_by_task
from handaxe.worlds.parts.check_split import check_count
from handaxe.worlds.world import Facts, Split, World

__all__ = ["PART", "mixture", "part_gauge"]

PART = "part"
"""Key of task metadata with the name of the world that a task is from."""


def mixture(
    parts: Mapping[str, World], *, weights: Mapping[str, int] | None = None, name: str = "mixture", dense: bool = True
) -> World:
    """Interleave the tasks of several worlds; each task is played and scored as in its own world.

    Tasks follow a cycle in which each world occurs `weights` times in a row. Training follows the same weights in every
    cycle, see `curricula.interleaved`: a world of few tasks, such as a file, repeats them. Default tools are those of
    all worlds; the offered tools go to the worlds that have tools, and to those for tools of the user.

    Args:
        parts: worlds by name. A name goes into the metadata "part" of the world's tasks.
        weights: tasks per cycle of each world, >= 1; None: 1 each.
        name: of the mixture.
        dense: task k of a world is its task number k. False: it is the one whose number is the position in the mixture,
            so that tasks at the positions of other worlds are skipped.

    Returns:
        A world broken down by "part", with an expert if every world has one, and with the files of all worlds. It has
        no start. It has fewer tasks than requested where a world runs out of tasks.

    Raises:
        InputError: no world, or weights that do not fit the worlds.

    Example:
        mixture({"sum": arithmetic(), "fact": hops()}, weights={"sum": 2, "fact": 1}) asks sum, sum, fact, sum, sum, ...
    """
    counts = _counts(parts, weights)
    cycle = [part for part in parts for _ in range(counts[part])]
    complete = all(world.expert is not None for world in parts.values())

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        check_count(split, count)
        order = [cycle[position % len(cycle)] for position in range(count)]
        sizes = {part: max(1, order.count(part)) if dense else count for part in parts}
        lists = {part: world.tasks(split, sizes[part], seed) for part, world in parts.items()}
        used = dict.fromkeys(parts, 0)
        made = list[Task]()
        for position, part in enumerate(order):
            place = used[part] if dense else position
            used[part] += 1
            if place < len(lists[part]):
                one = lists[part][place]
                made.append(replace(one, metadata={**one.metadata, PART: part}))
        return made

    def env(tools: Sequence[Any]) -> EnvFactory:
        given = {part: tools if world.tools or world.user_tools else () for part, world in parts.items()}
        return env_by_task(PART, {part: world.env(given[part]) for part, world in parts.items()})

    def expert(task: Task, facts: Facts) -> Message:
        message: Message = parts[task.metadata[PART]].need("expert")(task, facts)
        return message

    return World(
        name=name,
        tasks=tasks,
        env=tool_chat if all(world.env is tool_chat and world.user_tools for world in parts.values()) else env,
        correct=reward_by_task(key=PART, rewards={part: world.correct for part, world in parts.items()}),
        tools=tuple(dict.fromkeys(tool for world in parts.values() for tool in world.tools)),
        breakdown=(PART,),
        expert=expert if complete else None,
        curriculum=interleaved(
            key=PART, weights=counts, around={part: world.curriculum for part, world in parts.items()}
        ),
        files={f"parts.{part}.{key}": file for part, world in parts.items() for key, file in world.files.items()},
        images={f"parts.{part}.{key}": names for part, world in parts.items() for key, names in world.images.items()},
    )


def part_gauge(part: str, measure: Callable[[Trajectory], float]) -> RatioMetric:
    """Make a gauge of a mixture: the mean of a measure over the rollouts of one part.

    Args:
        part: name of a world of the mixture.
        measure: rollout -> number; called for rollouts of the part alone.

    Example:
        part_gauge("sum", lambda one: len(one.calls)) is calls per rollout of the tasks of "sum"

    Idea: a measure of one kind of tasks is not diluted by the others.
    """

    def is_of_part(one: Trajectory) -> bool:
        return bool(one.task.metadata[PART] == part)

    return RatioMetric(
        lambda one, outcome: measure(one) if is_of_part(one) else 0.0, lambda one, outcome: float(is_of_part(one))
    )


def _counts(parts: Mapping[str, World], weights: Mapping[str, int] | None) -> dict[str, int]:
    """Weight of each world, in the order of the worlds."""
    if not parts:
        raise InputError("a mixture needs one world or more")
    given = dict.fromkeys(parts, 1) if weights is None else dict(weights)
    if set(given) != set(parts):
        raise InputError(f"the weights are of {', '.join(given) or 'nothing'}, and the parts are {', '.join(parts)}")
    if wrong := {part: one for part, one in given.items() if type(one) is not int or one < 1}:
        part, one = next(iter(wrong.items()))
        raise InputError(f"the weight of part {part!r} is {one!r}; give a whole number of 1 or more")
    return {part: given[part] for part in parts}
