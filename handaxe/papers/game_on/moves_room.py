"""Room of minigrid that is seen in frames: 4 by 4 cells with coloured floor, and the agent, a triangle on red.

Idea: frames of a camera, from which Game On (arXiv:2409.03402) judges progress; here of minigrid.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from handaxe.core.errors import InputError, Retry
from handaxe.core.images import Image
from handaxe.tools.decorator import tool

__all__ = [
    "FLOORS",
    "MOVES",
    "ROOM_SIDE",
    "Room",
    "RoomStart",
    "agent_cell",
    "frame",
    "parse_cell",
    "spell_cell",
]

ROOM_SIDE = 4
"""Cells of a side."""
TILE = 8
"""Pixels of a side of a cell."""
FLOORS = ("blue", "green", "purple", "yellow")
"""Colours of floor, one cell each."""
MOVES: Mapping[str, tuple[int, int]] = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}
"""Skill -> change of column and row."""
FACING = ((1, 0), (0, 1), (-1, 0), (0, -1))
"""Change of column and row by minigrid's number of a direction."""
LEFT = 0
RIGHT = 1
FORWARD = 2
ENDLESS = 1 << 30
UNIT = 2
"""Units of a cell in texts, as in the world plates."""
BACKGROUND = 245
"""Of a frame; minigrid's black is unlike the scenes that `tiny_vision` knows."""
AGENT = np.array((230, 60, 50))
"""Colour of the agent's cell, that of a red plate; the triangle has a quarter of its brightness."""
GREY = 30
"""Least difference of the channels of a colour."""
RED = 150
"""Least red of a pixel of the agent; its green and blue are below half of the red."""

Cell = tuple[int, int]


class RoomStart(NamedTuple):
    """Start of a room.

    agent   column and row of the agent
    facing  minigrid's number of its direction, 0 to 3
    floors  columns and rows of the coloured cells, in the order of FLOORS
    """

    agent: Cell
    facing: int
    floors: tuple[Cell, ...]


class Room:
    """Running room with a tool `go`, whose walk is made of minigrid's own actions.

    Args:
        start: of the room.

    Raises:
        InputError: minigrid is not installed (extra [grid]).
    """

    def __init__(self, start: RoomStart):
        self._start = start
        self._env = _room_class()(start)
        self._env.reset(seed=0)
        self.steps = 0
        self.goes = 0

    @tool(timeout=None)
    def go(self, cell: str) -> Image:
        """Walk to a cell.

        Args:
            cell: left and top, such as "2 4"
        """
        found = parse_cell(cell)
        if found is None:
            raise Retry("give left and top, each 0, 2, 4 or 6")
        self.goes += 1
        for wanted in _walk(self.agent, found):
            self._face(wanted)
            self._act(FORWARD)
        return self.frame()

    @property
    def agent(self) -> Cell:
        """Column and row of the agent."""
        x, y = self._env.agent_pos
        return int(x) - 1, int(y) - 1

    def frame(self) -> Image:
        """Current frame, [32, 32] pixels."""
        pixels = _light(self._env.get_frame(highlight=False, tile_size=TILE)[TILE:-TILE, TILE:-TILE])
        x, y = TILE * self.agent[0], TILE * self.agent[1]
        tile = pixels[y : y + TILE, x : x + TILE]
        pixels[y : y + TILE, x : x + TILE] = np.where(_red(tile)[..., None], AGENT // 4, AGENT)
        return Image.of(pixels)

    def report(self) -> Mapping[str, Any]:
        """Position of the agent, actions of minigrid, and walks."""
        return {"at": list(self.agent), "steps": self.steps, "goes": self.goes}

    def snapshot(self) -> tuple[Cell, int, int, int]:
        """Return position, direction and counts."""
        return self.agent, int(self._env.agent_dir), self.steps, self.goes

    def restore(self, state: tuple[Cell, int, int, int]) -> None:
        """Put the agent back."""
        (x, y), self._env.agent_dir, self.steps, self.goes = state
        self._env.agent_pos = (x + 1, y + 1)

    def _face(self, wanted: int) -> None:
        turns = (wanted - int(self._env.agent_dir)) % len(FACING)
        for _ in range(turns if turns < 3 else 1):
            self._act(RIGHT if turns < 3 else LEFT)

    def _act(self, action: int) -> None:
        self._env.step(action)
        self.steps += 1


def _light(pixels: np.ndarray) -> np.ndarray:
    """Double the brightness of a drawing of minigrid, [H, W, 3], and turn black and grey into the background."""
    bright = np.minimum(2 * pixels.astype(int), 255)
    grey = np.ptp(bright, axis=-1) < GREY
    return np.where(grey[..., None], BACKGROUND, bright).astype(np.uint8)


def frame(start: RoomStart) -> Image:
    """Draw the first frame of a room, [32, 32] pixels."""
    return Room(start).frame()


def agent_cell(image: Image) -> Cell | None:
    """Find the agent in a frame: the cell with most of its red. None without red."""
    counts = _red(image.pixels).reshape(ROOM_SIDE, TILE, ROOM_SIDE, TILE).sum((1, 3))
    if not counts.any():
        return None
    row, column = divmod(int(counts.argmax()), ROOM_SIDE)
    return column, row


def _red(pixels: np.ndarray) -> np.ndarray:
    """Pixels [H, W, 3] of the agent's colour, [H, W]."""
    wide = pixels.astype(int)
    found: np.ndarray = (wide[..., 0] >= RED) & (2 * wide[..., 1:].max(-1) < wide[..., 0])
    return found


def spell_cell(cell: Cell) -> str:
    """Return left and top of a cell, in units.

    Example:
        column 1, row 2 -> "2 4"
    """
    return f"{UNIT * cell[0]} {UNIT * cell[1]}"


def parse_cell(text: str) -> Cell | None:
    """Parse left and top of a cell. Return None for other text."""
    words = text.split()
    if len(words) != 2 or not all(word in ("0", "2", "4", "6") for word in words):
        return None
    return int(words[0]) // UNIT, int(words[1]) // UNIT


def _walk(here: Cell, there: Cell) -> Sequence[int]:
    """Directions of a walk: along the row, then along the column."""
    across, along = there[0] - here[0], there[1] - here[1]
    return [0 if across > 0 else 2] * abs(across) + [1 if along > 0 else 3] * abs(along)


@functools.cache
def _room_class() -> Any:
    try:
        from minigrid.core.grid import Grid
        from minigrid.core.mission import MissionSpace
        from minigrid.core.world_object import Floor
        from minigrid.minigrid_env import MiniGridEnv
    except ImportError as error:
        raise InputError(f'rooms need minigrid ({error}): pip install "handaxe[grid]"') from error

    class MovesRoom(MiniGridEnv):  # type: ignore[misc]
        """Room with a wall around 4 by 4 cells."""

        def __init__(self, start: RoomStart):
            self._start = start
            space = MissionSpace(mission_func=lambda: "move")
            super().__init__(
                mission_space=space, grid_size=ROOM_SIDE + 2, max_steps=ENDLESS, see_through_walls=True, tile_size=TILE
            )

        def _gen_grid(self, width: int, height: int) -> None:
            self.grid = Grid(width, height)
            self.grid.wall_rect(0, 0, width, height)
            for colour, (x, y) in zip(FLOORS, self._start.floors, strict=True):
                self.put_obj(Floor(colour), x + 1, y + 1)
            self.agent_pos = (self._start.agent[0] + 1, self._start.agent[1] + 1)
            self.agent_dir = self._start.facing
            self.mission = "move"

    return MovesRoom
