"""Use of a library of made tools: a tool that fits worked examples, or a new one through the gate."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from handaxe.core.records import ToolSchema
from handaxe.tools.library import DraftVerdict, Ticket, ToolCase, ToolLibrary, ToolMaker

__all__ = ["Build", "ToolUse", "build_tool", "find_use", "list_schema"]

MOST_BOUND = 2
"""Largest number of parameters that `find_use` binds."""


class ToolUse(NamedTuple):
    """A tool, and values of the parameters that the worked examples do not give."""

    name: str
    bound: Mapping[str, int] = {}


class Build(NamedTuple):
    """Result of `build_tool`. use: of the admitted tool, None without one. refusals: of the drafts before it."""

    use: ToolUse | None
    refusals: tuple[DraftVerdict, ...] = ()


def list_schema(name: str, *, extra: Sequence[str] = ()) -> ToolSchema:
    """Schema of a tool on a list of whole numbers `xs`, with whole numbers as further parameters.

    Example:
        list_schema("move", extra=("n",)) has the parameters xs and n
    """
    properties: dict[str, Any] = {"xs": {"type": "array", "items": {"type": "integer"}}}
    properties |= {one: {"type": "integer"} for one in extra}
    return ToolSchema(
        name, "Apply a rule to a list.", {"type": "object", "properties": properties, "required": list(properties)}
    )


def find_use(library: ToolLibrary, cases: Sequence[ToolCase], *, values: Sequence[int] = ()) -> ToolUse | None:
    """Find the tool that gives the expected value in every case, by calls in the sandbox.

    Tools are tried in the order of their recorded uses, then of their age. A tool with more parameters than the cases
    have arguments is tried with every combination of the values.

    Args:
        library: the tools.
        cases: worked examples, at least one.
        values: of further parameters, of which a tool may have two.

    Returns:
        None if no tool fits.

    Example:
        a tool move(xs, n) and the case [1, 0, 0] -> [0, 0, 1], values 1 and 2  ->  ToolUse("move", {"n": 2})

    Idea: worked examples name the tool that is needed better than its description.
    """
    entries = sorted(library.entries.values(), key=lambda one: (-one.uses, one.since))
    for entry in entries:
        free = [one for one in entry.draft.schema.parameters["properties"] if one not in cases[0].arguments]
        if len(free) > MOST_BOUND:
            continue
        for chosen in itertools.product(values, repeat=len(free)):
            bound = dict(zip(free, chosen, strict=True))
            first, *rest = [ToolCase({**case.arguments, **bound}, case.expected) for case in cases]
            if library.fits(entry.name, [first]) and (not rest or library.fits(entry.name, rest)):
                return ToolUse(entry.name, bound)
    return None


def build_tool(
    maker: ToolMaker, library: ToolLibrary, ticket: Ticket, hidden: Sequence[ToolCase], *, most: int = 30
) -> Build:
    """Make drafts for a ticket, and admit the first that passes the library's gate.

    Args:
        maker: of the drafts.
        library: receives the tool.
        ticket: with the cases that the maker reads.
        hidden: cases of the checker, which the maker never sees.
        most: drafts that are checked.

    Example:
        drafts that fail, pass, pass  ->  the second is admitted, and one refusal is returned

    Paper: arXiv:2602.01983 (UCT), the build loop: code and tests, sandbox, critic, repeated up to a limit.
    Differs: the critic is a set of cases that the maker does not see.
    """
    refusals = list[DraftVerdict]()
    for draft in itertools.islice(maker.make(ticket), most):
        admission = library.admit(draft, hidden)
        if admission.verdict in library.accepts:
            return Build(ToolUse(draft.schema.name), tuple(refusals))
        refusals.append(admission)
    return Build(None, tuple(refusals))
