"""Tool maker: a tool from three worked questions, verified on three others and wrapped with example calls."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from handaxe.core.records import Task, ToolSchema
from handaxe.tools.build_tool import build_tool
from handaxe.tools.library import Ticket, ToolCase, ToolLibrary, ToolMaker

__all__ = [
    "ArgumentReader",
    "READERS",
    "WrappedTool",
    "make_tool",
    "read_numbers",
    "read_quoted",
    "read_words",
    "value_of",
]

TRIES = 3
"""Drafts of a function for a reader, as in the paper."""


class ArgumentReader(NamedTuple):
    """Way to read the arguments of a call from a question. kind: JSON type of an argument."""

    read: Callable[[str], list[Any]]
    kind: str


@dataclass(frozen=True)
class WrappedTool:
    """Verified tool with its example calls.

    name      in the library
    reader    of the example calls
    examples  (question, arguments) of the worked questions
    """

    name: str
    reader: ArgumentReader
    examples: tuple[tuple[str, list[Any]], ...]


def read_numbers(question: str) -> list[Any]:
    """Whole numbers of a question, in order.

    Example:
        "Simplify the fraction 6/8" -> 6, 8
    """
    return [int(one) for one in re.findall(r"\d+", question)]


def read_quoted(question: str) -> list[Any]:
    """Texts in double quotes."""
    return re.findall(r'"([^"]*)"', question)


def read_words(question: str) -> list[Any]:
    """Words behind the last colon, at commas.

    Example:
        "Reverse this list of words: a, b" -> "a", "b"
    """
    return [one.strip() for one in question.rpartition(":")[2].split(",") if one.strip()]


READERS = (
    ArgumentReader(read_numbers, "integer"),
    ArgumentReader(read_quoted, "string"),
    ArgumentReader(read_words, "string"),
)


def make_tool(
    name: str, maker: ToolMaker, library: ToolLibrary, shown: Sequence[Task], held: Sequence[Task]
) -> WrappedTool | None:
    """Propose, verify and wrap a tool for a kind of question.

    Propose: a function that gives the answers of the shown questions, from arguments that a reader reads. Verify: its
    calls on the held questions must give their answers. If no function passes, the next reader is tried.
    Wrap: the calls of the shown questions are the examples for the user.

    Args:
        name: of the tool.
        maker: proposes functions.
        library: receives the verified tool.
        shown: worked questions of the maker; 3 in the paper.
        held: worked questions of the verification; 3 in the paper.

    Returns:
        None if no function passes.

    Example:
        "gcd of 8, 12" with the answer 4, and two more -> common_divisor(xs), with the example call [8, 12]

    Paper: arXiv:2305.17126 (LATM), stages propose, verify and wrap of the tool maker.
    Differs: the maker enumerates programs and readers, where a language model writes functions and calls.
    """
    for reader in READERS:
        cases, hidden = _cases(reader, shown), _cases(reader, held)
        if not all(case.arguments["xs"] for case in (*cases, *hidden)):
            continue
        schema = ToolSchema(name, "Answer a question.", _parameters(reader.kind))
        ticket = Ticket(schema, tuple(cases), tuple(case.arguments for case in hidden))
        use = build_tool(maker, library, ticket, hidden, most=TRIES).use
        if use is not None:
            return WrappedTool(use.name, reader, tuple((_text(one), reader.read(_text(one))) for one in shown))
    return None


def value_of(answer: str | None) -> Any:
    """Answer as a whole number if it is one, else as text."""
    text = answer or ""
    return int(text) if re.fullmatch(r"-?\d+", text) else text


def _cases(reader: ArgumentReader, tasks: Sequence[Task]) -> list[ToolCase]:
    return [ToolCase({"xs": reader.read(_text(one))}, value_of(one.answer)) for one in tasks]


def _parameters(kind: str) -> Mapping[str, Any]:
    return {"type": "object", "properties": {"xs": {"type": "array", "items": {"type": kind}}}, "required": ["xs"]}


def _text(task: Task) -> str:
    return task.messages[-1].content
