"""Answers of rollouts: a tool for submission, and predicates for turns with an answer."""

from __future__ import annotations

from typing import Annotated

from handaxe.core.records import Trajectory, Turn
from handaxe.rewards.parts.extract import call_argument, final_text
from handaxe.tools.decorator import tool

__all__ = ["answer", "is_number_answer", "is_text_answer", "stated_answer", "submitted_answer"]


@tool(timeout=None)
def answer(text: Annotated[str, "the answer alone"]) -> str:
    """Give your answer; the conversation is over then."""
    return text


submitted_answer = call_argument(answer.schema.name, "text")
"""The argument of the last call of `answer`; "" without a call."""


def stated_answer(trajectory: Trajectory) -> str:
    """Return the answer submitted through the tool `answer`, or else the text of the last turn; "" without both."""
    return submitted_answer(trajectory) or final_text(trajectory)


def is_number_answer(turn: Turn) -> bool:
    """Check whether a turn's text contains a digit: an answer, in worlds with numeric answers."""
    return any(character.isdigit() for character in turn.parsed.text)


def is_text_answer(turn: Turn) -> bool:
    """Check whether a turn has text and no call: an answer, in worlds with textual answers."""
    return bool(turn.parsed.text.strip()) and not turn.parsed.calls
