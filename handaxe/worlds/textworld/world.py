"""Text games, made here by seed: find one thing in a house, and nothing is paid before it is found."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from handaxe.core.errors import TaskError
from handaxe.core.metrics import RatioMetric
from handaxe.core.protocols import Env, EnvFactory
from handaxe.core.records import Message, Task, ToolCall, Trajectory
from handaxe.core.requests import EnvReply
from handaxe.envs.tool_chat import tool_chat
from handaxe.envs.wrapped import AsyncWrapped
from handaxe.rewards.outcome import outcome
from handaxe.worlds.textworld.games import Game, Games, Kind
from handaxe.worlds.world import DemonstrationNoise, Facts, Split, Start, World

__all__ = ["textworld"]

START = Start(DemonstrationNoise(clumsy=0.1), skill=450, steps=50, batch_size=16)


def textworld(*, kind: Kind = "easy", rooms: int = 4, length: int = 2, games: int = 300, brief: bool = True) -> World:
    """Games of textworld's treasure hunter: walk through a house and take the thing that is asked for.

    Right is a game that is won, and nothing else is paid: taking another thing loses it. A game is played by the tool
    `do`; its environment tells the expert after every turn which commands win from there, also after a detour. Games
    are made when they are first needed (a tenth of a second each; many rooms take longer) and kept in the cache folder
    (HANDAXE_CACHE, or ~/.cache/handaxe); where more tasks are asked for, they come again.

    Args:
        kind: easy has no doors; medium has closed containers, hard locked doors and things whose keys are carried.
        rooms: of a house, 1 to 30.
        length: commands that the shortest way takes, 1 to `rooms`.
        games: how many different ones, 8 or more; about a quarter of them is to test.
        brief: say the room and what can be done there in key words, which the tiny policy can learn to read; else what
            the game itself says, whose first playing compiles it (a second).

    Returns:
        A world broken down by "length", with the gauges steps (commands given) and left (of those that win, how many
        are missing at the end). Give attempts some turns more than `length`.

    Raises:
        InputError: an argument out of range, or a missing package (extra [textworld]).

    Example:
        "take lamp. attic: go east" and do("go east") -> "hall: go south, go west, take lamp, take pen", do("take lamp")
        -> "you won"
    """
    shelf = Games(kind=kind, rooms=rooms, length=length, count=games)

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        if count < 1:
            raise TaskError(f"a data set of {count} tasks is empty; give a count of 1 or more")
        numbers = itertools.islice(shelf.of(split, seed), count)
        return [_task(shelf, number, f"{split}-{seed}-{n}", brief=brief) for n, number in enumerate(numbers)]

    def env(tools: Sequence[Any]) -> EnvFactory:
        tool_chat(tools)  # says at once what is wrong with them

        def make(task: Task) -> Env:
            number = task.metadata["game"]
            shelf.opening(number)  # made anew, where the cache was emptied
            return _Played(task, tools, Game(shelf.file(number, text=not brief)))

        return make

    return World(
        name="textworld",
        tasks=tasks,
        env=env,
        correct=outcome(lambda one: float(_final(one, "won"))),
        by=("length",),
        expert=_expert,
        start=START if brief else None,
        gauges={
            "steps": RatioMetric(lambda one, right: float(_final(one, "steps"))),
            "left": RatioMetric(lambda one, right: float(_final(one, "left"))),
        },
    )


def _task(shelf: Games, number: int, key: str, *, brief: bool) -> Task:
    opening = shelf.opening(number)
    assert opening is not None
    thing, seen, way = opening
    said = f"take {thing}. {seen}"
    if not brief:
        room, _, ways = seen.partition(": ")
        said = (
            f"You are playing a text game by calling the tool. Find the {thing} and take it; taking a wrong thing ends "
            f"the game. You are in the {room}. What you can do here: {ways}."
        )
    metadata = {"game": number, "length": len(way), "walkthrough": way}
    return Task(f"textworld-{'-'.join(map(str, shelf.settings))}-{key}", (Message("user", said),), None, None, metadata)


def _expert(task: Task, facts: Facts) -> Message:
    way = facts.get("policy_commands", task.metadata["walkthrough"])
    if not way or "do" not in facts["tools"]:
        return Message("assistant", "I give up")
    return Message("assistant", "", (ToolCall("do", {"command": way[0]}),))


def _final(one: Trajectory, name: str) -> Any:
    return one.env["state"]["Game"][name]


class _Played(AsyncWrapped):
    """A conversation with tools that is over when its game is."""

    def __init__(self, task: Task, tools: Sequence[Any], game: Game):
        super().__init__(tool_chat([lambda: game, *tools])(task))
        self._game = game

    def said(self, reply: EnvReply) -> EnvReply:
        return reply._replace(done=reply.done or self._game.over, facts=self._game.facts())

    def close(self) -> None:
        super().close()
        self._game.stop()
