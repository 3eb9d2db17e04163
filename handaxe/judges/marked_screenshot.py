"""Question about an action on a screenshot, with the clicked point marked in the image."""

from __future__ import annotations

import json
from typing import Any

from handaxe.core.errors import InputError
from handaxe.core.images import PLACEHOLDER, Image
from handaxe.core.records import Criterion, Message, ToolReply, Trajectory
from handaxe.judges.verdict_token import Ask
from handaxe.rewards.parts.points import call_point

__all__ = ["marked_screenshot"]

INK = (0, 0, 0)
MARK = 2
"""Least pixels of a side of a mark."""


def marked_screenshot(*, unit: int = 1) -> Ask:
    """Make a question for `verdict_token` and `trained_verdict` about the first call of a turn.

        text    the last question or reply with an image before the turn, and the call: "red gam: click 3 5?"
        image   of that question or reply; for a call with a point, with a black square around the point

    The square has half a unit a side, 2 pixels or more, so that what lies below it stays visible around it.

    Args:
        unit: pixels of a unit of the calls; 1 for calls in pixels.

    Returns:
        An Ask: (trajectory, turn number, criterion) -> a message of the user. A criterion's text ends the question. A
        turn without a call is described by its text.

    Raises:
        InputError: a unit below 1; a rollout without an image before the turn.

    Example:
        "red gam", an image of 32 by 32 pixels and click {"point": "3 5"}, unit 4: "red gam: click 3 5?" and the image
        with black pixels 13 and 14 by 21 and 22

    Idea: reward models of GUI agents see the screenshot and the candidate action, as in arXiv:2505.21496 (UI-Genie).
    """
    if unit < 1:
        raise InputError(f"unit is {unit}; give 1 pixel or more")

    def question(trajectory: Trajectory, turn: int, criterion: Criterion | None) -> Message:
        asked, image = _shown(trajectory, turn)
        own = trajectory.turns[turn].parsed
        call = own.calls[0] if own.calls else None
        did = json.dumps(own.raw) if call is None else " ".join([call.name, *map(_word, call.arguments.values())])
        point = None if call is None else call_point(call)
        more = "" if criterion is None else f" {criterion.text}"
        return Message.of("user", f"{asked}: {did}?{more}", _marked(image, point, unit))

    return question


def _word(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _shown(trajectory: Trajectory, turn: int) -> tuple[str, Image]:
    """The last text with an image before a turn, and its last image."""
    before: list[Message | ToolReply] = list(trajectory.task.messages)
    before += [reply for one in trajectory.turns[:turn] for reply in one.replies]
    for one in reversed(before):
        if one.images:
            return one.content.replace(PLACEHOLDER, "").strip(), one.images[-1]
    raise InputError(f"rollout {trajectory.id!r} shows no image before turn {turn}, which the judge is to see")


def _marked(image: Image, point: tuple[float, float] | None, unit: int) -> Image:
    if point is None:
        return image
    size = max(MARK, unit // 2)
    left, top = (unit * round(one) + max(0, unit - size) // 2 for one in point)
    pixels = image.pixels.copy()
    pixels[max(0, top) : max(0, top + size), max(0, left) : max(0, left + size)] = INK
    return Image.of(pixels)
