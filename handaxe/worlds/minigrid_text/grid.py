"""Grid of the package minigrid in text form, played by a tool."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple

from handaxe.core.errors import Failed, InputError, Retry
from handaxe.tools.decorator import tool
from handaxe.worlds.minigrid_text.shortest_path import (
    GridLayout,
    GridState,
    grid_state,
    list_things,
    read_layout,
    shortest,
)

__all__ = ["GridGame", "GridKind", "GridStart", "KINDS", "Kind", "WORDS", "start_grid", "state_to_json"]

Kind = Literal[
    "doorkey",
    "fourrooms",
    "keycorridor",
    "multiroom",
    "crossing",
    "unlockpickup",
    "blockedunlockpickup",
    "obstructedmaze",
    "lockedroom",
]
WORDS = ("left", "right", "forward", "pickup", "drop", "toggle")
"""Actions of minigrid by number, without the no-op."""
ENDLESS = 1 << 30
"""Step limit of minigrid itself."""
ROOM = 5
"""Maximum side of a room of multiroom, walls included."""


class GridKind(NamedTuple):
    """Kind of grid: constructor by size, possible sizes, and the name of the goal."""

    make: Callable[[Any, int], Any]
    sizes: tuple[int, ...]
    brief: str
    long: str


KINDS: Mapping[Kind, GridKind] = {
    "doorkey": GridKind(
        lambda envs, size: envs.DoorKeyEnv(size=size, max_steps=ENDLESS),
        (5, 6, 7, 8, 16),
        "goal",
        "Take the key, open the door with it and go to the goal.",
    ),
    "fourrooms": GridKind(
        lambda envs, size: envs.FourRoomsEnv(max_steps=ENDLESS),
        (19,),
        "goal",
        "Find your way through four rooms to the goal.",
    ),
    "keycorridor": GridKind(
        lambda envs, size: envs.KeyCorridorEnv(num_rows=size, room_size=3, max_steps=ENDLESS),
        (1, 2, 3),
        "ball",
        "Find the key, open the locked door with it and pick up the ball behind that.",
    ),
    "multiroom": GridKind(
        lambda envs, size: envs.MultiRoomEnv(size, size, ROOM, max_steps=ENDLESS),
        (2, 3, 4, 5, 6),
        "goal",
        "Open the doors from room to room and go to the goal in the last room.",
    ),
    "crossing": GridKind(
        lambda envs, size: envs.CrossingEnv(size, size // 2 - 1, _wall(), max_steps=ENDLESS),
        (5, 7, 9, 11),
        "goal",
        "Find the gaps in the walls and go to the goal in the opposite corner.",
    ),
    "unlockpickup": GridKind(
        lambda envs, size: envs.UnlockPickupEnv(max_steps=ENDLESS),
        (6,),
        "box",
        "Open the locked door with the key and pick up the box behind it. Opening the box destroys it.",
    ),
    "blockedunlockpickup": GridKind(
        lambda envs, size: envs.BlockedUnlockPickupEnv(max_steps=ENDLESS),
        (6,),
        "box",
        "Move the ball, open the locked door with the key and pick up the box behind it. Opening the box destroys it.",
    ),
    "obstructedmaze": GridKind(
        lambda envs, size: envs.ObstructedMaze_1Dlhb(key_in_box=size > 1, blocked=size > 2, max_steps=ENDLESS),
        (1, 2, 3),
        "blue ball",
        "Pick up the blue ball behind the locked door. The key may be in a box, and another ball may block the door.",
    ),
    "lockedroom": GridKind(
        lambda envs, size: envs.LockedRoomEnv(max_steps=ENDLESS),
        (19,),
        "goal",
        "Find the key in one of six rooms, open the locked room with it and go to the goal.",
    ),
}
"""Sizes: cells of a side including walls; for keycorridor rows of rooms with one cell each; for multiroom rooms; for
obstructedmaze 1 with a free key, 2 with the key in a box, 3 with a blocked door as well.
"""


class GridStart(NamedTuple):
    """Start of a grid: constant layout, first state, first view, a shortest path, and a drawing."""

    ways: GridLayout
    state: GridState
    seen: str
    way: tuple[str, ...]
    drawing: str


def start_grid(kind: Kind, size: int, seed: int, *, brief: bool) -> GridStart:
    """Create the start of a seed's grid.

    Raises:
        InputError: minigrid is not installed.
    """
    game = GridGame(kind, size, seed, brief=brief)
    way = shortest(game.ways, game.state)
    assert way is not None, "minigrid makes grids that can be solved"
    return GridStart(game.ways, game.state, game.seen, way, game.drawing)


def state_to_json(state: GridState) -> dict[str, Any]:
    """Convert a state to JSON."""
    return {
        "at": list(state.at),
        "facing": state.facing,
        "holds": state.holds,
        "lie": [None if one is None else list(one) for one in state.lie],
        "doors": list(state.doors),
    }


class GridGame:
    """Running grid with a tool `act`. Snapshots are deep copies.

    Args:
        kind, size: see KINDS.
        seed: seed of the grid.
        brief: describe the view in key words.

    Raises:
        InputError: minigrid is not installed.
    """

    def __init__(self, kind: Kind, size: int, seed: int, *, brief: bool):
        self._env = KINDS[kind].make(_envs(), size)
        self._brief = brief
        self._steps = self._done = 0
        self._env.reset(seed=seed)
        self.ways, self.state = read_layout(self._env)
        self._things = list_things(self._env)
        types = Counter(kind for kind, _ in self.ways.things)
        self._coloured = frozenset(kind for kind, count in types.items() if count > 1)

    @tool(timeout=None, max_chars=500)
    def act(self, word: Annotated[str, "left, right, forward, pickup, drop or toggle"]) -> str:
        """Turn left or right, go forward, pick up, drop, or open the thing in front. The reply is the new view."""
        if self.is_over:
            raise Retry("it is over")
        said = word.strip().lower()
        if said not in WORDS:
            raise Failed("no such word")
        self._steps += 1
        self._env.step(WORDS.index(said))
        before, self.state = self.state, self.current_state()
        if before == self.state:
            raise Failed("nothing happens")
        self._done += 1
        return "done" if self.is_over else self.seen

    def current_state(self) -> GridState:
        """Current state of minigrid."""
        return grid_state(self._env, self.ways, self._things)

    @property
    def is_over(self) -> bool:
        """Whether the grid is solved."""
        return self.state.ended(self.ways)

    @property
    def drawing(self) -> str:
        """The grid in minigrid's characters."""
        return str(self._env.pprint_grid())

    @property
    def seen(self) -> str:
        """The agent's view: free cells ahead, to the left and to the right, and visible objects with their distance in
        front of the agent and to the side.
        """
        view, visible = self._env.gen_obs_grid()
        wide, own = view.width // 2, view.height - 1

        def free(step: tuple[int, int]) -> int:
            count = 0
            while True:
                x, y = wide + step[0] * (count + 1), own + step[1] * (count + 1)
                inside = 0 <= x < view.width and 0 <= y <= own
                if not inside or not visible[x, y] or not _enterable(view.get(x, y)):
                    return count
                count += 1

        room = [free(step) for step in ((0, -1), (-1, 0), (1, 0))]
        things = []
        for x in range(view.width):
            for y in range(view.height):
                cell = view.get(x, y)
                if visible[x, y] and (x, y) != (wide, own) and cell is not None and cell.type != "wall":
                    things.append((own - y + abs(x - wide), own - y, x - wide, cell))
        things.sort(key=lambda one: one[:3])
        said = [(front, aside, cell) for _, front, aside, cell in things]
        held = self._env.carrying
        return _brief_view(room, said, held, self._coloured) if self._brief else _worded_view(room, said, held)

    def report(self) -> Mapping[str, Any]:
        """Success, number of actions, number of effective actions, and the last state."""
        return {"won": self.is_over, "steps": self._steps, "done": self._done, **state_to_json(self.state)}

    def snapshot(self) -> Any:
        """Deep copy of all mutable state."""
        return copy.deepcopy((self._env, self._things, self.state, self._steps, self._done))

    def restore(self, state: Any) -> None:
        """Restore a snapshot and keep the snapshot usable."""
        self._env, self._things, self.state, self._steps, self._done = copy.deepcopy(state)


def _enterable(cell: Any) -> bool:
    return cell is None or bool(cell.can_overlap())


def _name(cell: Any, coloured: frozenset[str] = frozenset()) -> str:
    """The state of a door, or the type of another object, with its colour if the grid has several of the type."""
    if cell.type != "door":
        return f"{cell.color} {cell.type}" if cell.type in coloured else str(cell.type)
    return "open" if cell.is_open else "locked" if cell.is_locked else "closed"


def _brief_view(room: list[int], things: list[tuple[int, int, Any]], carried: Any, coloured: frozenset[str]) -> str:
    """Text such as "a1l2 +key locked f2r1" without zeros, since a small policy reads 512 bytes in all."""
    parts = ["".join(f"{side}{count}" for side, count in zip("alr", room) if count)]
    parts += [f"+{_name(carried, coloured)}"] if carried is not None else []
    for front, shift, cell in things:
        parts.append(f"{_name(cell, coloured)} {f'f{front}' if front else ''}{_side(shift, '{side}{cells}', 'lr')}")
    return " ".join(part for part in parts if part) or "walls"


def _side(shift: int, template: str, sides: Sequence[str]) -> str:
    return template.format(side=sides[int(shift > 0)], cells=abs(shift)) if shift else ""


def _worded_view(room: list[int], things: list[tuple[int, int, Any]], carried: Any) -> str:
    parts = ["You can go {} ahead, {} to the left and {} to the right.".format(*room)]
    for front, shift, cell in things:
        what = f"{cell.color} {cell.type}" if cell.type != "door" else f"{_name(cell)} {cell.color} door"
        places = [f"{front} ahead" if front else "", _side(shift, "{cells} to the {side}", ("left", "right"))]
        parts.append(f"You see this {what}: {', '.join(place for place in places if place)}.")
    return " ".join([*parts, *([f"You hold a {carried.color} {carried.type}."] if carried is not None else [])])


def _wall() -> Any:
    from minigrid.core.world_object import Wall

    return Wall


def _envs() -> Any:
    try:
        from minigrid import envs
    except ImportError as error:
        raise InputError(f'grids need minigrid ({error}): pip install "handaxe[grid]"') from error
    return envs
