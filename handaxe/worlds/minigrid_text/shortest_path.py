"""Shortest path through a grid of minigrid, by breadth-first search over states."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

__all__ = [
    "AHEAD",
    "GridLayout",
    "GridState",
    "LOCKED",
    "OPEN",
    "Place",
    "grid_state",
    "list_things",
    "read_layout",
    "shortest",
    "spoils",
]

Place = tuple[int, int]
AHEAD: tuple[Place, ...] = ((1, 0), (0, 1), (-1, 0), (0, -1))
"""By direction: right, down, left, up."""
OPEN = 0
CLOSED = 1
LOCKED = 2
REMEMBERED = 20_000
"""Size of the path cache; sibling rollouts share states."""


class GridLayout(NamedTuple):
    """Constant layout of a grid.

    walls  cells that nothing enters;  goals  cells that end the task;  doors  (cell, colour) of each
    things  (type, colour) of objects that can be carried;  wanted  index of the object that ends the task, -1 for none
    inside  index of the object in each box, -1 for none; () without boxes
    """

    walls: frozenset[Place]
    goals: frozenset[Place]
    doors: tuple[tuple[Place, str], ...]
    things: tuple[tuple[str, str], ...]
    wanted: int
    inside: tuple[int, ...] = ()


class GridState(NamedTuple):
    """Mutable state: position and direction of the agent, the carried object (-1: none), positions of the objects
    (None: carried, in a box, or destroyed), and the state of each door: open (0), closed (1) or locked (2).
    """

    at: Place
    facing: int
    holds: int
    lie: tuple[Place | None, ...]
    doors: tuple[int, ...]

    def ended(self, ways: GridLayout) -> bool:
        """Whether the task is done."""
        return self.at in ways.goals or (self.holds >= 0 and self.holds == ways.wanted)

    @property
    def front(self) -> Place:
        """The cell in front of the agent."""
        return self.at[0] + AHEAD[self.facing][0], self.at[1] + AHEAD[self.facing][1]


def read_layout(env: Any) -> tuple[GridLayout, GridState]:
    """Read the layout and the state of a minigrid environment."""
    walls: list[Place] = []
    goals: list[Place] = []
    doors: list[tuple[Place, Any]] = []
    for x in range(env.width):
        for y in range(env.height):
            cell = env.grid.get(x, y)
            kind = "" if cell is None else cell.type
            if kind == "wall":
                walls.append((x, y))
            elif kind == "goal":
                goals.append((x, y))
            elif kind == "door":
                doors.append(((x, y), cell))
    things, target = list_things(env), getattr(env, "obj", None)
    places = {id(one): n for n, one in enumerate(things)}
    boxes = any(one.type == "box" for one in things)
    ways = GridLayout(
        frozenset(walls),
        frozenset(goals),
        tuple((place, door.color) for place, door in doors),
        tuple((one.type, one.color) for one in things),
        next((n for n, one in enumerate(things) if one is target), -1),
        tuple(places.get(id(one.contains), -1) for one in things) if boxes else (),
    )
    return ways, grid_state(env, ways, things)


def list_things(env: Any) -> list[Any]:
    """Objects that can be carried, by column; then the contents of boxes."""
    cells = [env.grid.get(x, y) for x in range(env.width) for y in range(env.height)]
    found = [cell for cell in cells if cell is not None and cell.type not in ("wall", "goal", "door")]
    return found + [one.contains for one in found if one.type == "box" and one.contains is not None]


def grid_state(env: Any, ways: GridLayout, things: list[Any]) -> GridState:
    """Read the state of an environment; `things` are its objects, in the order of `ways.things`."""
    found = {id(cell): (n % env.width, n // env.width) for n, cell in enumerate(env.grid.grid) if cell is not None}
    holds = next((n for n, one in enumerate(things) if one is env.carrying), -1)
    doors = tuple(_door(env.grid.get(*place)) for place, _ in ways.doors)
    at = (int(env.agent_pos[0]), int(env.agent_pos[1]))
    return GridState(at, int(env.agent_dir), holds, tuple(found.get(id(one)) for one in things), doors)


def _door(door: Any) -> int:
    return OPEN if door.is_open else LOCKED if door.is_locked else CLOSED


@lru_cache(maxsize=REMEMBERED)
def shortest(ways: GridLayout, state: GridState) -> tuple[str, ...] | None:
    """Find the words of a shortest path from a state to the end; () at the end, None without a path.

    Example:
        a corridor of three cells, the goal two cells ahead -> ("forward", "forward")
    """
    came: dict[GridState, tuple[GridState, str] | None] = {state: None}
    waiting = deque([state])
    while waiting:
        here = waiting.popleft()
        if here.ended(ways):
            return _back(came, here)
        for word, there in _acts(ways, here):
            if there not in came:
                came[there] = here, word
                waiting.append(there)
    return None


def _back(came: dict[GridState, tuple[GridState, str] | None], state: GridState) -> tuple[str, ...]:
    words = []
    while (step := came[state]) is not None:
        state, word = step
        words.append(word)
    return tuple(reversed(words))


def _acts(ways: GridLayout, state: GridState) -> Iterator[tuple[str, GridState]]:
    """Actions on possible shortest paths: doors are never closed, and a key is dropped only for another object."""
    front = state.front
    yield "left", state._replace(facing=(state.facing - 1) % 4)
    yield "right", state._replace(facing=(state.facing + 1) % 4)
    if front in ways.walls:
        return
    door = next((n for n, (place, _) in enumerate(ways.doors) if place == front), -1)
    thing = state.lie.index(front) if front in state.lie else -1
    if thing < 0 and (door < 0 or state.doors[door] == OPEN):
        yield "forward", state._replace(at=front)
    if thing >= 0 and state.holds < 0:
        yield "pickup", state._replace(holds=thing, lie=_replaced(state.lie, thing, None))
    if door >= 0 and state.doors[door] != OPEN and (state.doors[door] == CLOSED or _fits(ways, state, door)):
        yield "toggle", state._replace(doors=_replaced(state.doors, door, OPEN))
    content = ways.inside[thing] if ways.inside and thing >= 0 else -1
    if content >= 0:
        opened = _replaced(state.lie, thing, None)
        yield "toggle", state._replace(lie=_replaced(opened, content, front))
    empty = door < 0 and thing < 0 and front not in ways.goals
    if empty and state.holds >= 0 and ways.wanted >= 0:
        yield "drop", state._replace(holds=-1, lie=_replaced(state.lie, state.holds, front))


def spoils(ways: GridLayout, state: GridState, word: str) -> bool:
    """Whether an action destroys a box without content, which may make the task impossible."""
    thing = state.lie.index(state.front) if state.front in state.lie else -1
    return (
        word == "toggle"
        and thing >= 0
        and bool(ways.inside)
        and ways.things[thing][0] == "box"
        and (ways.inside[thing] < 0)
    )


def _fits(ways: GridLayout, state: GridState, door: int) -> bool:
    return state.holds >= 0 and ways.things[state.holds] == ("key", ways.doors[door][1])


def _replaced(values: tuple[Any, ...], place: int, value: Any) -> tuple[Any, ...]:
    return (*values[:place], value, *values[place + 1 :])
