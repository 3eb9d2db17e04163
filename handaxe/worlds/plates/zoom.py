"""Tool `zoom` of worlds with a canvas: the policy sees an overview, and a part of the original on request."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from handaxe.core.errors import Retry
from handaxe.core.images import Image
from handaxe.core.protocols import Env, EnvFactory
from handaxe.core.records import Task, Trajectory
from handaxe.envs.inherit_bound import inherit_bound
from handaxe.envs.tool_chat import tool_chat
from handaxe.tools.decorator import Tool, tool
from handaxe.worlds.plates.scene import SHOWN, SIDE, UNIT

__all__ = ["Box", "ZOOM", "last_zoom", "parse_box", "zoom_env"]

Box = tuple[int, int, int, int]
"""Left, top, right and bottom in units; right and bottom are exclusive."""
ZOOM = "zoom"
"""Name of the tool."""
SHRUNK = SIDE * UNIT // SHOWN
"""Pixels of the original a pixel of the overview."""


class _Original:
    """Canvas of a task, drawn at the first zoom. A view of it changes nothing."""

    def __init__(self, draw: Callable[[], Image]):
        self._draw = draw

    @tool(timeout=None)
    def zoom(self, box: str) -> Image:
        """Show a part of the image in detail.

        Args:
            box: left, top, right and bottom, such as "0 2 4 6"
        """
        region = parse_box(box)
        if region is None:
            raise Retry(f"give left, top, right, bottom from 0 to {SIDE}, with room between")
        original = self._draw()
        unit = original.width // SIDE
        left, top, right, bottom = (unit * side for side in region)
        return original.crop((left, top, right, bottom), longest=original.width // SHRUNK)

    def snapshot(self) -> None:
        """Return None, the empty state."""

    def restore(self, state: None) -> None:
        """Do nothing."""


def zoom_env(
    draw: Callable[[Task], Image], *, zoom: bool = True, ending: Sequence[Tool] = ()
) -> Callable[[Sequence[Any]], EnvFactory]:
    """Return the `env` of a world with the tool `zoom`, besides the world's tools.

    Args:
        draw: canvas of a task, [S, S] pixels; a zoom has S / 8 on the longest side.
        zoom: offer the tool.
        ending: further tools; a call of one ends the rollout.

    Returns:
        (tools) -> factory of environments. A tool of the world with the name "zoom" is a ToolDefinitionError.

    Example:
        zoom {"box": "6 6 8 8"} replies with the last 64 by 64 pixels at 32 by 32
    """

    names = [one.schema.name for one in ending]

    def env(tools: Sequence[Any]) -> EnvFactory:
        # Raises early for bad tools, and bounds the number of open environments.
        probe = tool_chat([lambda: _Original(lambda: draw(Task("", (), None))), *tools, *ending], final=names)
        if not zoom:
            return tool_chat([*tools, *ending], final=names)

        def make(task: Task) -> Env:
            return tool_chat([lambda: _Original(lambda: draw(task)), *tools, *ending], final=names)(task)

        return inherit_bound(make, probe)

    return env


def last_zoom(trajectory: Trajectory) -> Box | None:
    """Return the box of the last successful zoom, in units, or None without one."""
    found = None
    for turn in trajectory.turns:
        done = {reply.call_id for reply in turn.replies if reply.status == "ok" and reply.name == ZOOM}
        for call in turn.parsed.calls:
            if call.id in done:
                found = parse_box(str(call.arguments.get("box")))
    return found


def parse_box(text: str) -> Box | None:
    """Parse a box. Return None for other text, an empty box, or one beyond the canvas."""
    words = text.split()
    if len(words) != 4 or not all(word.isascii() and word.isdigit() and len(word) < 4 for word in words):
        return None
    left, top, right, bottom = map(int, words)
    return (left, top, right, bottom) if left < right <= SIDE and top < bottom <= SIDE else None
