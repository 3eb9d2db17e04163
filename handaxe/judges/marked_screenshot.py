"""A step judge that asks about an action on a screenshot, with the clicked point marked in the image."""

from __future__ import annotations

import json
from typing import Any

from handaxe.asking.ask import Ask
from handaxe.asking.desk import AskDesk
from handaxe.asking.image_question import with_image
from handaxe.asking.prompt import parse_prompt
from handaxe.core.errors import InputError
from handaxe.core.images import PLACEHOLDER, Image
from handaxe.core.records import Message, ToolReply, Trajectory
from handaxe.judges.asked_steps import AskedSteps
from handaxe.rewards.parts.points import call_point

__all__ = ["MarkedScreenshot", "marked_screenshot"]

INK = (0, 0, 0)
MARK = 2
"""Least pixels of a side of a mark."""
QUESTION = """+++
id = "marked_screenshot"
version = 1
quoted = ["request", "did"]
labels = { yes = ["yes"], no = ["no"] }
+++
{{user}}
{{request}}: {{did}}?
"""
PROMPT = parse_prompt(QUESTION, source=__name__)


def marked_screenshot(*, desk: AskDesk, unit: int = 1) -> MarkedScreenshot:
    """Make a judge that asks a language model with vision whether the first call of each turn was right.

        r_k = 2 P(yes) / (P(yes) + P(no)) - 1
        text    the last question or reply with an image before the turn, and the call: "red gam": "click 3 5"?
        image   of that question or reply; for a call with a point, with a black square around the point

    The square has half a unit a side, 2 pixels or more, so that what lies below it stays visible around it.

    Args:
        desk: answers the questions, such as a `judges.taught_answerer.TaughtAnswerer` with vision.
        unit: pixels of a unit of the calls; 1 for calls in pixels.

    Returns:
        A judge and StepJudge; the score of a rollout is the sum over its steps. A turn without a call is described by
        its text. It does not learn.

    Raises:
        InputError: a unit below 1; while scoring, a rollout without an image before the turn.
        VerifierError: while scoring, a question without an answer.

    Example:
        "red gam", an image of 32 by 32 pixels and click {"point": "3 5"}, unit 4: the question "red gam": "click 3 5"?
        and the image with black pixels 13 and 14 by 21 and 22

    Idea: reward models of GUI agents see the screenshot and the candidate action, as in arXiv:2505.21496 (UI-Genie).
    """
    if unit < 1:
        raise InputError(f"unit is {unit}; give 1 pixel or more")
    return MarkedScreenshot(desk, unit)


class MarkedScreenshot(AskedSteps):
    """See `marked_screenshot`."""

    def __init__(self, desk: AskDesk, unit: int):
        super().__init__(desk, PROMPT.id, -1.0, 1.0)
        self._unit = unit

    def question(self, trajectory: Trajectory, turn: int) -> Ask:
        """The question about one turn, with its image."""
        request, image = _shown(trajectory, turn)
        own = trajectory.turns[turn].parsed
        call = own.calls[0] if own.calls else None
        did = own.raw if call is None else " ".join([call.name, *map(_word, call.arguments.values())])
        point = None if call is None else call_point(call)
        prompt = with_image(PROMPT, _marked(image, point, self._unit))
        return Ask(prompt, {"request": request, "did": did}, about=(trajectory.id, turn, ""))


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
