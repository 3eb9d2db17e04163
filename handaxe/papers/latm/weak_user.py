"""Weak user: a small language model that writes the arguments of a call, or an answer without a tool."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from handaxe.asking.ask import Answerer, Ask, AskAnswer
from handaxe.asking.prompt import find_prompt
from handaxe.core.records import Sampling, Task
from handaxe.papers.latm.make_tool import WrappedTool

__all__ = ["UserReply", "answer_alone", "answer_candidates", "parse_arguments", "write_arguments"]

SAMPLING = Sampling(temperature=0.0, max_tokens=40)
"""Greedy, as in the paper."""


class UserReply(NamedTuple):
    """Reply of the user. text: as written. tokens: read and written."""

    text: str
    tokens: int


def write_arguments(answerer: Answerer, pairs: Sequence[tuple[WrappedTool, str]]) -> list[UserReply]:
    """Ask for the arguments of a call by example calls, for each pair of a tool and a question.

    Paper: arXiv:2305.17126 (LATM), the tool user reads the wrapped tool and writes the call alone.
    """
    asks = []
    for tool, question in pairs:
        lines = [f"Question: {one.strip()}\nArguments: {json.dumps(given)}" for one, given in tool.examples]
        prompt = find_prompt("latm/use" if tool.reader.kind == "integer" else "latm/use_words")
        asks.append(_ask(prompt.id, "\n\n".join(lines), question))
    return [_reply(one) for one in answerer.answer(asks)]


def answer_alone(answerer: Answerer, pairs: Sequence[tuple[Sequence[Task], str]]) -> list[UserReply]:
    """Ask for the answer by worked questions, for each pair of worked questions and a question."""
    asks = []
    for shown, question in pairs:
        lines = [f"Question: {one.messages[-1].content.strip()}\nAnswer: {one.answer}" for one in shown]
        asks.append(_ask("latm/answer", "\n\n".join(lines), question))
    return [_reply(one) for one in answerer.answer(asks)]


def parse_arguments(text: str, kind: str) -> list[Any] | None:
    """Read the arguments of a reply, which continues an opened list.

    Args:
        text: untrusted.
        kind: "integer" with the opening [, or "string" with [ and a quotation mark.

    Returns:
        None for a reply that is no list of this kind.

    Example:
        "884, 52] and so on" -> [884, 52]
    """
    opening = "[" if kind == "integer" else '["'
    try:
        found, _ = json.JSONDecoder().raw_decode(opening + text)
    except (ValueError, RecursionError):
        return None
    wanted = int if kind == "integer" else str
    valid = isinstance(found, list) and all(type(one) is wanted for one in found)
    return found if valid and found else None


def answer_candidates(text: str) -> list[str]:
    """Candidates for the answer in a sentence: the text, its last number, and the end behind the last "is" or colon.

    Example:
        "The answer is 5." -> "The answer is 5.", "5", "5"
    """
    numbers = re.findall(r"-?\d+(?:/\d+)?", text)
    ends = [part for mark in (" is ", ":") if (part := text.rpartition(mark)[2]) != text]
    return [text, *numbers[-1:], *(part.strip().strip('".').strip() for part in ends)]


def _ask(prompt: str, examples: str, question: str) -> Ask:
    return Ask(find_prompt(prompt), {"examples": examples, "question": question.strip()}, "user", sampling=SAMPLING)


def _reply(answer: AskAnswer) -> UserReply:
    return UserReply(answer.text.strip(), answer.spent.read + answer.spent.written)
