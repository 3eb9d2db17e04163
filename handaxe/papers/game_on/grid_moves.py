"""Moves in a room that is seen in frames: skills of one move, and tasks composed of two."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import product
from typing import Any

from handaxe.core.errors import InputError
from handaxe.core.metrics import RatioMetric
from handaxe.core.protocols import EnvFactory
from handaxe.core.records import Message, Task, ToolCall
from handaxe.core.requests import EnvReply
from handaxe.envs.tool_chat import tool_chat
from handaxe.envs.wrapper import AsyncEnvWrapper
from handaxe.ops.seeds import derive_seed
from handaxe.papers.game_on.moves_room import FLOORS, MOVES, ROOM_SIDE, Cell, Room, RoomStart, frame, spell_cell
from handaxe.rewards.outcome import outcome
from handaxe.worlds.parts.check_split import check_count
from handaxe.worlds.parts.content_split import content_split
from handaxe.worlds.world import DemonstrationNoise, Facts, Split, Start, World

__all__ = ["after_moves", "grid_moves"]

START = Start(
    DemonstrationNoise(call_rate=0.8, corrupt_rate=0.2), skill=110, steps=10, batch_size=32, learning_rate=1e-3
)
GO = "go"


def grid_moves(*, composed: float = 0.5, decompose: bool = True) -> World:
    """Rooms of minigrid as images of 32 by 32 pixels; a task is one move of the agent, or two.

    The policy sees a frame and the name of a skill: up, down, left or right. The call `go` names the goal cell of the
    move, which depends on the position of the agent, a triangle on red, in the frame. The tool walks with minigrid's
    actions and returns the new frame.

    Args:
        composed: share of tasks of two moves, 0 to 1.
        decompose: the two moves are two instructions, each after the frame of the last; False: one instruction of two
            words, and one call.

    Returns:
        A world broken down by "length", the number of moves. A rollout is correct if the agent ends in the right cell.
        Metadata "skills" has the names of the moves. The gauge "actions" counts actions of minigrid. No frame is in
        both splits.

    Raises:
        InputError: `composed` out of range, or a missing package (extra [grid]).

    Example:
        "red up?" and a frame with the agent in column 1, row 2: go {"cell": "2 2"}

    Idea: the setting of Game On (arXiv:2409.03402), skills in words and progress in frames; robots are replaced by the
        smallest world with both.
    """
    if not 0 <= composed <= 1:
        raise InputError(f"grid_moves takes a share composed of 0 to 1, not {composed}")

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        check_count(split, count)
        return [_task(split, seed, number, composed, decompose) for number in range(count)]

    return World(
        name="grid_moves",
        tasks=tasks,
        env=_env,
        correct=outcome(lambda one: float(one.env["state"]["Room"]["at"] == one.task.metadata["goal"])),
        breakdown=("length",),
        hidden_keys=("goal",),
        expert=_expert,
        start=START,
        start_model="tiny_vision",
        gauges={"actions": RatioMetric(lambda one, right: float(one.env["state"]["Room"]["steps"]))},
    )


def after_moves(cell: Cell, skills: Sequence[str]) -> Cell | None:
    """Return the cell after moves; None beyond the room.

    Example:
        column 1, row 2 after up, left -> column 0, row 1
    """
    x, y = cell
    for skill in skills:
        x, y = x + MOVES[skill][0], y + MOVES[skill][1]
        if not (0 <= x < ROOM_SIDE and 0 <= y < ROOM_SIDE):
            return None
    return x, y


def _task(split: Split, seed: int, number: int, composed: float, decompose: bool) -> Task:
    rng = random.Random(derive_seed("grid moves", split, seed, number))
    length = 2 if rng.random() < composed else 1
    ways = list(product(MOVES, repeat=length))
    while True:
        cells = [(x, y) for x in range(ROOM_SIDE) for y in range(ROOM_SIDE)]
        agent, *floors = rng.sample(cells, 1 + len(FLOORS))
        start = RoomStart(agent, rng.randrange(4), tuple(floors))
        skills = rng.choice(ways)
        goal = after_moves(agent, skills)
        mine: Split = content_split("grid moves split", repr(start))
        if goal is not None and goal != agent and mine == split:
            break
    said = skills[:1] if decompose else skills
    metadata = {
        "skills": list(skills),
        "said": len(said),
        "length": length,
        "goal": list(goal),
        "start": [list(agent), start.facing, [list(one) for one in floors]],
    }
    asked = Message.of("user", _words(said), frame(start))
    return Task(f"grid-moves-{split}-{seed}-{number}", (asked,), None, metadata=metadata)


def _words(skills: Sequence[str]) -> str:
    """Instruction: the agent, by its colour, and the moves."""
    return f"red {' '.join(skills)}?"


def _start(task: Task) -> RoomStart:
    (x, y), facing, floors = task.metadata["start"]
    return RoomStart((x, y), facing, tuple((a, b) for a, b in floors))


def _env(tools: Sequence[Any]) -> EnvFactory:
    tool_chat(tools)  # raises early for bad tools
    return lambda task: _MovesEnv(task, tools, Room(_start(task)))


class _MovesEnv(AsyncEnvWrapper):
    """Conversation with one instruction after each walk, until all moves are said and made."""

    def __init__(self, task: Task, tools: Sequence[Any], room: Room):
        super().__init__(tool_chat([lambda: room, *tools])(task))
        self._skills, self._said = task.metadata["skills"], task.metadata["said"]
        self._room = room

    def transform_reply(self, reply: EnvReply) -> EnvReply:
        walked = any(one.name == GO and one.status == "ok" for one in reply.replies)
        made = self._said * self._room.goes
        facts = {"at": list(self._room.agent), "made": made}
        if reply.done or not walked:
            return reply._replace(facts=facts)
        if made >= len(self._skills):
            return reply._replace(done=True, facts=facts)
        following = Message("user", _words(self._skills[made : made + 1]))
        return reply._replace(messages=(*reply.messages, following), facts=facts)


def _expert(task: Task, facts: Facts) -> Message:
    """Walk to the cell of the present instruction."""
    at = facts.get("at", task.metadata["start"][0])
    made = facts.get("made", 0)
    goal = after_moves((at[0], at[1]), task.metadata["skills"][made : made + task.metadata["said"]])
    if GO not in facts["tools"] or goal is None:
        return Message("assistant", "I give up")
    return Message("assistant", "", (ToolCall(GO, {"cell": spell_cell(goal)}),))
