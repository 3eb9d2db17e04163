"""Tasks with a correct and a wrong rollout: the material and the scale of attacks on rewards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from handaxe.core.errors import InputError
from handaxe.core.records import Group, Message, Task, Trajectory
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.tiny_image_processor import TinyImageProcessor
from handaxe.rewards.parts.scoring import score_group
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.world import Expert, Facts, World

__all__ = ["Scene", "make_scenes", "play", "script", "turn_messages"]

TURNS = 16
"""Turns of a rollout at most."""
FORMAT = Compact(TinyImageProcessor(8))
ENDED = frozenset({"completed", "truncated", "policy_error"})
"""Endings of rollouts that a reward scores."""


class Scene(NamedTuple):
    """A task of a world with honest rollouts, played in the environment with tools.

    world, tools   of the rollouts
    task           of oracle and wrong
    oracle         the world's expert; in a world without one, the task's answer as text
    wrong          the expert's turns at another task, played at this one: honest, well formed, and not correct
    distractors    the expert at other tasks, each played there
    """

    world: World
    tools: Sequence[Any]
    task: Task
    oracle: Trajectory
    wrong: Trajectory
    distractors: tuple[Trajectory, ...]


def make_scenes(
    world: World, *, tasks: Sequence[Task] | None = None, tools: Sequence[Any] | None = None, count: int = 3
) -> list[Scene]:
    """Play the expert at tasks of a world, and turns of the expert at a task of another answer.

    Args:
        world: of the tasks.
        tasks: candidates, at least two; None: the world's test tasks.
        tools: offered; None: the world's tools.
        count: scenes at most.

    Raises:
        InputError: fewer than two tasks, or no task for which the turns of another are wrong.
    """
    offered = world.tools if tools is None else tools
    candidates = world.tasks("test", 4 * count, 0) if tasks is None else tasks
    if len(candidates) < 2:
        raise InputError(f"world {world.name!r} has {len(candidates)} tasks; attacks on a reward take two or more")
    expert = world.expert or _answer
    played = [play(world, offered, task, expert) for task in candidates]
    scenes: list[Scene] = []
    for k, (task, oracle) in enumerate(zip(candidates, played)):
        distractors = tuple(
            one for one in (*played[k + 1 :], *played[:k]) if turn_messages(one) != turn_messages(oracle)
        )
        wrong = _wrong(world, offered, task, oracle, distractors)
        if wrong is not None and oracle.ending.kind in ENDED:
            scenes.append(Scene(world, offered, task, oracle, wrong, distractors))
        if len(scenes) == count:
            break
    if not scenes:
        raise InputError(
            f"in world {world.name!r} no rollout of one task is wrong at another, so no reward can be attacked"
        )
    return scenes


def play(world: World, tools: Sequence[Any], task: Task, speaker: Expert, *, id: str = "oracle") -> Trajectory:
    """Play a speaker at a task, in the compact chat format; see `demonstrate`."""
    return demonstrate(world.env(tools), task, speaker, format=FORMAT, id=id, rollout=world.make_rollout(TURNS))


def turn_messages(one: Trajectory) -> list[Message]:
    """A message for each turn of a rollout, with calls without ids."""
    return [
        Message("assistant", turn.parsed.text, tuple(replace(call, id="") for call in turn.parsed.calls))
        for turn in one.turns
    ]


def script(*turns: Message | str) -> Expert:
    """A speaker of fixed turns. Further turns repeat the last turn."""
    words = [Message("assistant", one) if isinstance(one, str) else one for one in turns]

    def speaker(task: Task, facts: Facts) -> Message:
        del task
        return words[min(facts["turn"], len(words) - 1)] if words else Message("assistant", "")

    return speaker


def _answer(task: Task, facts: Facts) -> Message:
    del facts
    answer = task.answer[0] if isinstance(task.answer, list | tuple) and task.answer else task.answer
    if answer is None:
        raise InputError(f"task {task.id!r} has no answer and its world no expert: define one of them")
    return Message("assistant", str(answer))


def _wrong(
    world: World, tools: Sequence[Any], task: Task, oracle: Trajectory, distractors: Sequence[Trajectory]
) -> Trajectory | None:
    """The turns of another task, with a lower score at the scene's task; preferably with the oracle's numbers of
    calls."""
    calls = [len(message.calls) for message in turn_messages(oracle)]
    alike = sorted(distractors, key=lambda one: [len(message.calls) for message in turn_messages(one)] != calls)
    for other in alike:
        tried = play(world, tools, task, script(*turn_messages(other)), id="wrong")
        if tried.ending.kind not in ENDED:
            continue
        right, here = score_group(world.correct, Group(task, (oracle, tried)))[1].outcome
        if here < right:
            return tried
    return None
