"""Views of a film: the tools, and the windows that a rollout saw."""

from __future__ import annotations

from typing import NamedTuple

from handaxe.core.errors import Retry
from handaxe.core.images import Image
from handaxe.core.records import Task, Trajectory
from handaxe.tools.decorator import tool
from handaxe.worlds.clips.film import LENGTH, SHEET_SIZES, film_of, sheet

__all__ = [
    "CROP",
    "FRAMES",
    "FilmView",
    "SeenWindow",
    "Window",
    "gold_window",
    "last_window",
    "parse_span",
    "seen_windows",
]

Window = tuple[int, int]
"""First frame and exclusive last frame."""
CROP, FRAMES = "crop_clip", "frames"
"""Names of the tools."""
MANY = SHEET_SIZES[-1]
"""Frames of a sheet without a count."""


class SeenWindow(NamedTuple):
    """A successful view: its turn, its window, and the number of its frames."""

    turn: int
    window: Window
    shown: int


class FilmView:
    """Film of a task. A view of it changes nothing."""

    def __init__(self, task: Task):
        self._task = task

    @tool(timeout=None)
    def frames(self, window: str) -> Image:
        """Show frames of a part of the film, on one sheet.

        Args:
            window: start, stop and number of frames (1, 4 or 16), such as "0 32 16"
        """
        found = _window(window)
        if found is None:
            raise Retry(f"give start < stop from 0 to {LENGTH}, and 1, 4 or {MANY} frames")
        return sheet(film_of(self._task.metadata["film"]), *found[0], found[1])

    @tool(timeout=None)
    def crop_clip(self, span: str) -> Image:
        """Show the middle frame of a part of the film, large.

        Args:
            span: start and stop, such as "12 20"
        """
        found = _window(span)
        if found is None or len(span.split()) != 2:
            raise Retry(f"give start < stop from 0 to {LENGTH}")
        return sheet(film_of(self._task.metadata["film"]), *found[0], 1)

    def snapshot(self) -> None:
        """Return None, the empty state."""

    def restore(self, state: None) -> None:
        """Do nothing."""


def seen_windows(trajectory: Trajectory) -> list[SeenWindow]:
    """List the successful views of a trajectory, in order. Refused and malformed calls show nothing."""
    found = []
    for number, turn in enumerate(trajectory.turns):
        done = {reply.call_id: reply.name for reply in turn.replies if reply.status == "ok"}
        for call in turn.parsed.calls:
            if done.get(call.id) in (CROP, FRAMES):
                seen = _window(str(next(iter(call.arguments.values()))))
                if seen is not None:
                    found.append(SeenWindow(number, seen[0], 1 if call.name == CROP else seen[1]))
    return found


def last_window(trajectory: Trajectory) -> Window | None:
    """Return the window of the last view, or None without one."""
    seen = seen_windows(trajectory)
    return seen[-1].window if seen else None


def gold_window(task: Task) -> Window:
    """Return the interval of the red card."""
    start, stop = task.metadata["gold"]
    return start, stop


def parse_span(text: str) -> Window | None:
    """Parse start and stop. Return None for other text, an empty window, or one beyond the film."""
    found = _window(text)
    return found[0] if found is not None and len(text.split()) == 2 else None


def _window(text: str) -> tuple[Window, int] | None:
    """Parse start, stop, and the number of frames, by default 16."""
    words = text.split()
    if len(words) not in (2, 3) or not all(word.isascii() and word.isdigit() and len(word) < 4 for word in words):
        return None
    start, stop, count = (*map(int, words), MANY)[:3]
    return ((start, stop), count) if start < stop <= LENGTH and count in SHEET_SIZES else None
