"""One grid of the package minigrid, told in words and played by one tool."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple

from handaxe.core.errors import Failed, InputError, Retry
from handaxe.tools.decorator import tool
from handaxe.worlds.minigrid_text.shortest_path import GridState, Ways, grid_state, shortest, ways_of

__all__ = ["Begun", "GridGame", "KINDS", "Kind", "KindOf", "WORDS", "begin_grid", "kept_of"]

Kind = Literal["doorkey", "fourrooms", "keycorridor"]
WORDS = ("left", "right", "forward", "pickup", "drop", "toggle")
"""The actions of minigrid by number, without the one that does nothing."""
ENDLESS = 1 << 30
"""Steps after which minigrid itself would stop."""


class KindOf(NamedTuple):
    """A kind of grid: how one is made of a size, which sizes there are, and what is told of its end."""

    make: Callable[[Any, int], Any]
    sizes: tuple[int, ...]
    brief: str
    long: str


KINDS: Mapping[Kind, KindOf] = {
    "doorkey": KindOf(
        lambda envs, size: envs.DoorKeyEnv(size=size, max_steps=ENDLESS),
        (5, 6, 7, 8),
        "goal",
        "Take the key, open the door with it and go to the goal.",
    ),
    "fourrooms": KindOf(
        lambda envs, size: envs.FourRoomsEnv(max_steps=ENDLESS),
        (19,),
        "goal",
        "Find your way through four rooms to the goal.",
    ),
    "keycorridor": KindOf(
        lambda envs, size: envs.KeyCorridorEnv(num_rows=size, room_size=3, max_steps=ENDLESS),
        (1, 2, 3),
        "ball",
        "Find the key, open the locked door with it and pick up the ball behind that.",
    ),
}
"""Sizes: cells of a side with its walls; for keycorridor rows of rooms, of one cell each."""


class Begun(NamedTuple):
    """How a grid begins: what never changes in it, its first state, what is seen from there, a shortest way, and a
    drawing of it."""

    ways: Ways
    state: GridState
    seen: str
    way: tuple[str, ...]
    drawing: str


def begin_grid(kind: Kind, size: int, seed: int, *, brief: bool) -> Begun:
    """How the grid of a seed begins.

    Raises:
        InputError: minigrid is not installed.
    """
    game = GridGame(kind, size, seed, brief=brief)
    way = shortest(game.ways, game.state)
    assert way is not None, "minigrid makes grids that can be solved"
    return Begun(game.ways, game.state, game.seen, way, game.drawing)


def kept_of(state: GridState) -> dict[str, Any]:
    """A state as JSON."""
    return {
        "at": list(state.at),
        "facing": state.facing,
        "holds": state.holds,
        "lie": [None if one is None else list(one) for one in state.lie],
        "doors": list(state.doors),
    }


class GridGame:
    """One grid at work, with the tool that plays it. Its snapshot is a deep copy.

    Args:
        kind, size: see KINDS.
        seed: of the grid.
        brief: say what is seen in key words.

    Raises:
        InputError: minigrid is not installed.
    """

    def __init__(self, kind: Kind, size: int, seed: int, *, brief: bool):
        self._env = KINDS[kind].make(_envs(), size)
        self._brief = brief
        self._steps = self._done = 0
        self._env.reset(seed=seed)
        self.ways, self.state = ways_of(self._env)
        self._things = [cell for cell in self._by_place() if cell.type not in ("wall", "goal", "door")]

    def _by_place(self) -> list[Any]:
        """What stands in the grid, in the order in which `ways_of` goes through it."""
        env = self._env
        cells = [env.grid.get(x, y) for x in range(env.width) for y in range(env.height)]
        return [cell for cell in cells if cell is not None]

    @tool(timeout=None, max_chars=500)
    def act(self, word: Annotated[str, "left, right, forward, pickup, drop or toggle"]) -> str:
        """Turn left or right, go forward, pick up, drop, or open what is in front; it says what is seen then."""
        if self.over:
            raise Retry("it is over")
        said = word.strip().lower()
        if said not in WORDS:
            raise Failed("no such word")
        self._steps += 1
        self._env.step(WORDS.index(said))
        before, self.state = self.state, self.after()
        if before == self.state:
            raise Failed("nothing happens")
        self._done += 1
        return "done" if self.over else self.seen

    def after(self) -> GridState:
        """The state that minigrid is in now."""
        return grid_state(self._env, self.ways, self._things)

    @property
    def over(self) -> bool:
        """Whether it is solved."""
        return self.state.ended(self.ways)

    @property
    def drawing(self) -> str:
        """The grid as minigrid draws it in characters."""
        return str(self._env.pprint_grid())

    @property
    def seen(self) -> str:
        """What the agent sees: how far it can go ahead, to its left and to its right, and things in its view by how
        many cells they are in front of it and aside."""
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
        return _in_brief(room, said, held) if self._brief else _in_words(room, said, held)

    def report(self) -> Mapping[str, Any]:
        """Whether it is solved, words said that are actions, those of them that did something, and the last state."""
        return {"won": self.over, "steps": self._steps, "done": self._done, **kept_of(self.state)}

    def snapshot(self) -> Any:
        """A deep copy of all that changes."""
        return copy.deepcopy((self._env, self._things, self.state, self._steps, self._done))

    def restore(self, state: Any) -> None:
        """Go on from a snapshot, which may be gone back to again."""
        self._env, self._things, self.state, self._steps, self._done = copy.deepcopy(state)


def _enterable(cell: Any) -> bool:
    return cell is None or bool(cell.can_overlap())


def _name(cell: Any) -> str:
    """A door by its state, everything else by its type."""
    if cell.type != "door":
        return str(cell.type)
    return "open" if cell.is_open else "locked" if cell.is_locked else "closed"


def _in_brief(room: list[int], things: list[tuple[int, int, Any]], held: Any) -> str:
    """Such as "a1l2 +key locked f2r1"; what is 0 is left out, since a small policy reads 512 bytes in all."""
    parts = ["".join(f"{side}{count}" for side, count in zip("alr", room) if count)]
    parts += [f"+{held.type}"] if held is not None else []
    for front, aside, cell in things:
        parts.append(f"{_name(cell)} {f'f{front}' if front else ''}{_aside(aside, '{side}{cells}', 'lr')}")
    return " ".join(part for part in parts if part) or "walls"


def _aside(aside: int, said: str, sides: Sequence[str]) -> str:
    return said.format(side=sides[int(aside > 0)], cells=abs(aside)) if aside else ""


def _in_words(room: list[int], things: list[tuple[int, int, Any]], held: Any) -> str:
    parts = ["You can go {} ahead, {} to the left and {} to the right.".format(*room)]
    for front, aside, cell in things:
        what = f"{cell.color} {cell.type}" if cell.type != "door" else f"{_name(cell)} {cell.color} door"
        places = [f"{front} ahead" if front else "", _aside(aside, "{cells} to the {side}", ("left", "right"))]
        parts.append(f"You see this {what}: {', '.join(place for place in places if place)}.")
    return " ".join([*parts, *([f"You hold a {held.color} {held.type}."] if held is not None else [])])


def _envs() -> Any:
    try:
        from minigrid import envs
    except ImportError as error:
        raise InputError(f'grids need minigrid ({error}): pip install "handaxe[grid]"') from error
    return envs
