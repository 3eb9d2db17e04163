"""A tool that takes the answer of an attempt and ends it, for worlds in which words are not the only way to answer."""

from __future__ import annotations

from typing import Annotated

from handaxe.core.records import Trajectory
from handaxe.rewards.parts.extract import argument, final_text
from handaxe.tools.decorator import tool

__all__ = ["answer", "given_answer", "handed_in"]


@tool(timeout=None)
def answer(text: Annotated[str, "the answer alone"]) -> str:
    """Give your answer; the conversation is over then."""
    return text


handed_in = argument(answer.schema.name, "text")
"""What the tool was given last, "" for nothing."""


def given_answer(trajectory: Trajectory) -> str:
    """What the tool `answer` was given, or what the last turn says where it was given nothing; "" for neither."""
    return handed_in(trajectory) or final_text(trajectory)
