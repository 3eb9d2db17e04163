"""A task with what a right and a wrong attempt at it look like: what attacks on rewards are made of and measured by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from handaxe.core.errors import InputError
from handaxe.core.records import Group, Message, Task, Trajectory
from handaxe.models.compact import Compact
from handaxe.rewards.parts.scoring import score_group
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.world import Expert, Facts, World

__all__ = ["Scene", "lines", "make_scenes", "play", "script"]

TURNS = 16
"""Turns that an attempt may take."""
ENDED = frozenset({"completed", "truncated", "policy_error"})
"""Endings of attempts that a reward is shown."""


class Scene(NamedTuple):
    """A task of a world and honest attempts at it, each really played: tools answered and the environment reports.

    world, tools   where it is played, with which tools
    task           what is attempted
    oracle         what the world's expert does; where a world has none, it says the task's answer
    wrong          what the expert does at another task, done here: as honest and well formed, and not right
    others         what the expert does at other tasks, each played there
    """

    world: World
    tools: Sequence[Any]
    task: Task
    oracle: Trajectory
    wrong: Trajectory
    others: tuple[Trajectory, ...]


def make_scenes(
    world: World, *, tasks: Sequence[Task] | None = None, tools: Sequence[Any] | None = None, count: int = 3
) -> list[Scene]:
    """Play the expert at some tasks of a world, and once more where it is wrong.

    Args:
        world: where.
        tasks: to choose from, at least two; None: the world's test tasks.
        tools: offered; None: the world's own.
        count: scenes, where there are so many tasks at which another task's attempt is wrong.

    Raises:
        InputError: fewer than two tasks, or no task at which the attempt of another is wrong.
    """
    offered = world.tools if tools is None else tools
    there = world.tasks("test", 4 * count, 0) if tasks is None else tasks
    if len(there) < 2:
        raise InputError(f"world {world.name!r} has {len(there)} tasks to attack a reward at; it takes two or more")
    expert = world.expert or _answer
    played = [play(world, offered, task, expert) for task in there]
    scenes: list[Scene] = []
    for k, (task, oracle) in enumerate(zip(there, played)):
        others = tuple(one for one in (*played[k + 1 :], *played[:k]) if lines(one) != lines(oracle))
        wrong = _wrong(world, offered, task, oracle, others)
        if wrong is not None and oracle.ending.kind in ENDED:
            scenes.append(Scene(world, offered, task, oracle, wrong, others))
        if len(scenes) == count:
            break
    if not scenes:
        raise InputError(
            f"in world {world.name!r} no attempt at one task is wrong at another, so nothing can be attacked"
        )
    return scenes


def play(world: World, tools: Sequence[Any], task: Task, speaker: Expert, *, id: str = "oracle") -> Trajectory:
    """One attempt at a task in which a function speaks, with the ids of the plain format; see `demonstrate`."""
    return demonstrate(world.env(tools), task, speaker, format=Compact(), id=id, rollout=world.plays(TURNS))


def lines(one: Trajectory) -> list[Message]:
    """What was said in an attempt, turn by turn, without ids of calls."""
    return [
        Message("assistant", turn.parsed.text, tuple(replace(call, id="") for call in turn.parsed.calls))
        for turn in one.turns
    ]


def script(*said: Message | str) -> Expert:
    """A speaker that says these one after the other, and the last one again when it is asked for more."""
    words = [Message("assistant", one) if isinstance(one, str) else one for one in said]

    def speaker(task: Task, facts: Facts) -> Message:
        del task
        return words[min(facts["turn"], len(words) - 1)] if words else Message("assistant", "")

    return speaker


def _answer(task: Task, facts: Facts) -> Message:
    del facts
    answer = task.answer[0] if isinstance(task.answer, list | tuple) and task.answer else task.answer
    if answer is None:
        raise InputError(
            f"task {task.id!r} has no answer and its world no expert: one of them has to say what is right"
        )
    return Message("assistant", str(answer))


def _wrong(
    world: World, tools: Sequence[Any], task: Task, oracle: Trajectory, others: Sequence[Trajectory]
) -> Trajectory | None:
    """What is done at another task and is worth less here; one of as many turns as the oracle where there is one."""
    alike = sorted(others, key=lambda one: [len(m.calls) for m in lines(one)] != [len(m.calls) for m in lines(oracle)])
    for other in alike:
        tried = play(world, tools, task, script(*lines(other)), id="wrong")
        if tried.ending.kind not in ENDED:
            continue
        right, here = score_group(world.correct, Group(task, (oracle, tried)))[1].outcome
        if here < right:
            return tried
    return None
