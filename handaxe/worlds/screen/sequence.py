"""Several screens in a row: every action is followed by the next screen, whatever it was, until the last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import dist
from typing import Annotated, Any, Literal

import numpy as np

from handaxe.core.errors import Retry
from handaxe.core.images import Image
from handaxe.core.protocols import Env, EnvFactory
from handaxe.core.records import Task, ToolCall, Trajectory
from handaxe.core.requests import EnvReply
from handaxe.envs.inherit_bound import inherit_bound
from handaxe.envs.tool_chat import tool_chat
from handaxe.envs.wrapper import AsyncEnvWrapper
from handaxe.rewards.parts.points import call_point, parse_point
from handaxe.tools.decorator import tool
from handaxe.worlds.screen.widgets import Widget, cell_box, draw_screen

__all__ = ["Actions", "Clicks", "actions_right", "further_screens", "screens"]

Shown = list[str | Image] | str
"""Question and image of the next screen, or "over"."""
NOTHING = Task("", (), None, metadata={"screens": []})


class Clicks:
    """Screens of a task after its first one, with the tool `click`. The state is the number of actions."""

    def __init__(self, task: Task):
        self._further = further_screens(task)
        self._done = 0

    @tool(timeout=None)
    def click(self, point: Annotated[str, 'units from the left and from above, such as "3 5"']) -> Shown:
        """Press at a point."""
        if parse_point(point) is None:
            raise Retry('give two numbers, such as "3 5"')
        return self._next()

    def _next(self) -> Shown:
        self._done += 1
        return "over" if self.is_over else list(self._further[self._done - 1])

    @property
    def is_over(self) -> bool:
        """Whether the last screen was acted on."""
        return self._done > len(self._further)

    def report(self) -> Mapping[str, Any]:
        """Number of actions."""
        return {"actions": self._done}

    def snapshot(self) -> int:
        """Number of actions."""
        return self._done

    def restore(self, state: int) -> None:
        """Restore a snapshot."""
        self._done = state


class Actions(Clicks):
    """As `Clicks`, with the tools `write` and `scroll` in addition."""

    @tool(timeout=None)
    def write(self, text: Annotated[str, "what to write"]) -> Shown:
        """Write into the red field."""
        del text
        return self._next()

    @tool(timeout=None)
    def scroll(self, direction: Literal["up", "down", "left", "right"]) -> Shown:
        """Move what is shown."""
        del direction
        return self._next()


def screens(kind: type[Clicks], tools: Sequence[Any]) -> EnvFactory:
    """Make the environment of several screens: the tools of `kind`, and further tools."""
    probe = tool_chat([lambda: kind(NOTHING), *tools])  # raises early for bad tools

    def make(task: Task) -> Env:
        shown = kind(task)
        return _UntilOver(tool_chat([lambda: shown, *tools])(task), shown)

    return inherit_bound(make, probe)


def further_screens(task: Task) -> list[tuple[str, Image]]:
    """Return the questions and images of the screens after the first."""
    return [
        (question, draw_screen(tuple(Widget(kind, colour, tuple(box), way) for kind, colour, box, way in widgets)))
        for question, widgets in task.metadata["screens"][1:]
    ]


def actions_right(trajectory: Trajectory, *, near: float) -> np.ndarray:
    """[N] 1 for a turn whose first call is the reference call of its screen, else -1.

    A click is correct in the target or nearer than `near` units to the reference; any other call if it is equal.
    """
    task, found = trajectory.task, list[float]()
    gold, done = task.metadata["gold_calls"], 0
    for turn in trajectory.turns:
        made = next(iter(turn.parsed.calls), None)
        right = made is not None and done < len(gold) and _is_right(made, gold[done], _target(task, done), near)
        found.append(1.0 if right else -1.0)
        done += sum(reply.status == "ok" for reply in turn.replies)
    return np.array(found, np.float64)


def _target(task: Task, number: int) -> Sequence[float]:
    box = task.metadata["screens"][number][1][0][2]
    return cell_box(Task("", (), None, metadata={"box": box}))


def _is_right(made: ToolCall, gold: Mapping[str, Any], box: Sequence[float], near: float) -> bool:
    if made.name != gold["name"]:
        return False
    if made.name != "click":
        return dict(made.arguments) == gold["arguments"]
    point, wanted = call_point(made), parse_point(gold["arguments"]["point"])
    if point is None or wanted is None:
        return False
    inside = box[0] < point[0] < box[2] and box[1] < point[1] < box[3]
    return inside or dist(point, wanted) < near


class _UntilOver(AsyncEnvWrapper):
    """Conversation with tools until the last screen was acted on."""

    def __init__(self, env: Env, shown: Clicks):
        super().__init__(env)
        self._shown = shown

    def transform_reply(self, reply: EnvReply) -> EnvReply:
        return reply._replace(done=reply.done or self._shown.is_over)
