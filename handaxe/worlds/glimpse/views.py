"""Views of hidden content: a stretch of a row, a box of a grid, a cell of a table."""

from __future__ import annotations

from typing import NamedTuple

from handaxe.core.errors import Retry
from handaxe.core.records import Task, Trajectory
from handaxe.tools.decorator import tool

__all__ = [
    "COLUMNS",
    "LENGTH",
    "LINES",
    "Region",
    "SIDE",
    "Seen",
    "VIEWS",
    "gold_region",
    "last_region",
    "seen_regions",
]

LENGTH = 64
"""Symbols of a row."""
SIDE = 8
"""Rows and columns of a grid."""
COLUMNS, LINES = "abcd", "1234"
"""Columns and lines of a table."""

Region = tuple[int, ...]
"""D lowest coordinates, then D exclusive upper bounds: a stretch (first, end), or a box (left, top, right, bottom)."""


class Seen(NamedTuple):
    """Turn and region of a successful view."""

    turn: int
    region: Region


class _Stateless:
    """View without state."""

    def __init__(self, hidden: str):
        self._hidden = hidden

    def snapshot(self) -> None:
        """Return None, the empty state."""

    def restore(self, state: None) -> None:
        """Do nothing."""


class _Row(_Stateless):
    """Row of symbols."""

    @tool(timeout=None)
    def view(self, span: str) -> str:
        """Show a part of the row.

        Args:
            span: where it begins and where it ends, such as "8 16"
        """
        region = _region(span, (LENGTH,))
        if region is None:
            raise Retry(f"give two numbers from 0 to {LENGTH}, the smaller first")
        return self._hidden[region[0] : region[1]]


class _Grid(_Stateless):
    """Several rows of symbols."""

    @tool(timeout=None)
    def zoom(self, box: str) -> str:
        """Show a part of the grid.

        Args:
            box: left, top, right and bottom, such as "0 2 4 6"
        """
        region = _region(box, (SIDE, SIDE))
        if region is None:
            raise Retry(f"give left, top, right, bottom from 0 to {SIDE}, with room between")
        left, top, right, bottom = region
        return "/".join(line[left:right] for line in self._hidden.split("/")[top:bottom])


class _Table(_Stateless):
    """Cells with names."""

    @tool(timeout=None)
    def read_cell(self, cell: str) -> str:
        """Read one cell.

        Args:
            cell: column and line, such as "b3"
        """
        region = _cell(cell)
        if region is None:
            raise Retry(f"cells are {COLUMNS[0]}{LINES[0]} to {COLUMNS[-1]}{LINES[-1]}")
        return self._hidden.split("/")[region[1]].split()[region[0]]


VIEWS = {"view": _Row, "zoom": _Grid, "read_cell": _Table}
"""Tool name -> view."""


def seen_regions(trajectory: Trajectory) -> list[Seen]:
    """List the successful views of a trajectory, in order.

    Text without a call, refused calls and malformed calls show nothing and are not counted.
    """
    found = []
    for number, turn in enumerate(trajectory.turns):
        done = {reply.call_id for reply in turn.replies if reply.status == "ok" and reply.name in VIEWS}
        for call in turn.parsed.calls:
            region = _region_of(call.name, *call.arguments.values()) if call.id in done else None
            found += [Seen(number, region)] if region else []
    return found


def last_region(trajectory: Trajectory) -> Region | None:
    """Return the region of the last view, or None without a view."""
    seen = seen_regions(trajectory)
    return seen[-1].region if seen else None


def gold_region(task: Task) -> Region:
    """Return the region of the answer; for a question about two cells, the region of the second cell."""
    return tuple(task.metadata["gold"])


def _region_of(name: str, argument: object) -> Region | None:
    if name == "read_cell":
        return _cell(str(argument))
    return _region(str(argument), (LENGTH,) if name == "view" else (SIDE, SIDE))


def _region(text: str, sides: tuple[int, ...]) -> Region | None:
    """Parse a region. Return None for other text, an empty region, or a region beyond the sides."""
    words = text.split()
    if len(words) != 2 * len(sides) or not all(word.isascii() and word.isdigit() and len(word) < 4 for word in words):
        return None
    numbers = tuple(int(word) for word in words)
    low, high = numbers[: len(sides)], numbers[len(sides) :]
    return numbers if all(a < b <= side for a, b, side in zip(low, high, sides, strict=True)) else None


def _cell(text: str) -> Region | None:
    """Parse the name of a cell. Return None for an unknown cell."""
    name = text.strip()
    if len(name) != 2 or name[0] not in COLUMNS or name[1] not in LINES:
        return None
    column, line = COLUMNS.index(name[0]), LINES.index(name[1])
    return (column, line, column + 1, line + 1)
