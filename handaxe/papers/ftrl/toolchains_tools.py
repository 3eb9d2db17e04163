"""Tools generated from tables of facts: local Python functions with documentation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal

from handaxe.core.errors import Retry
from handaxe.tools.decorator import Tool, tool
from handaxe.worlds.hops.knowledge_base import KnowledgeBase

__all__ = ["RELATIONS", "generate_tools", "tool_call"]

RELATIONS = ("ally", "aunt", "boss", "chef", "dean", "heir", "host", "idol", "mate", "nurse", "rival", "tutor")
"""Tables, each a tool without merging."""


def generate_tools(known: KnowledgeBase, *, merged: int, optional: bool) -> list[Tool]:
    """Generate the lookup tools.

        merged 1      boss(name), heir(name), ...
        merged 2      boss_or_chef(kind, name), ...: two functions merged, with a parameter that selects the table
        optional      a further, optional parameter: case, plain or upper

    Args:
        known: facts of all `RELATIONS`.
        merged: tables per tool, 1 to 3.
        optional: add the optional parameter.

    Returns:
        Tools in the order of their tables. A name without a fact is status "retry".

    Example:
        merged 2 -> ally_or_aunt(kind, name), boss_or_chef(kind, name), ...

    Paper: arXiv:2508.08791 (FTRL), functions with documentation, merged and extended by parameters.
    """
    groups = [RELATIONS[start : start + merged] for start in range(0, len(RELATIONS), merged)]
    return [_tool(known, group, optional=optional) for group in groups]


def tool_call(relation: str, name: str, *, merged: int) -> dict[str, Any]:
    """Create the lookup call of a fact: {"name": ..., "arguments": {...}}."""
    start = RELATIONS.index(relation) // merged * merged
    arguments = {"name": name} if merged == 1 else {"kind": relation, "name": name}
    return {"name": "_or_".join(RELATIONS[start : start + merged]), "arguments": arguments}


def _tool(known: KnowledgeBase, relations: Sequence[str], *, optional: bool) -> Tool:
    def look(kind: str, name: str, case: str = "plain") -> str:
        fact = known.facts.get((name.strip().lower(), kind.strip().lower()))
        if fact is None:
            raise Retry(f"no {kind} of {name[:40]!r} is known")
        return fact.upper() if case == "upper" else fact

    made = _function(relations, look, optional=optional)
    made.__doc__ = f"Look up the {' or '.join(relations)} of a person."
    return tool(name="_or_".join(relations), timeout=None)(made)


def _function(relations: Sequence[str], look: Callable[..., str], *, optional: bool) -> Callable[..., str]:
    """A function with exactly the tool's parameters."""
    Name, Kind = Annotated[str, "of the person"], Annotated[str, f"one of {', '.join(relations)}"]
    Case = Annotated[Literal["plain", "upper"], "how the answer is written"]
    only = relations[0]
    if len(relations) == 1 and not optional:

        def plain(name: Name) -> str:  # type: ignore[valid-type]
            return look(only, name)

        plain.__annotations__ = {"name": Name, "return": str}
        return plain
    if len(relations) == 1:

        def with_case(name: Name, case: Case = "plain") -> str:  # type: ignore[valid-type]
            return look(only, name, case)

        with_case.__annotations__ = {"name": Name, "case": Case, "return": str}
        return with_case
    if not optional:

        def of_kind(kind: Kind, name: Name) -> str:  # type: ignore[valid-type]
            return look(kind, name)

        of_kind.__annotations__ = {"kind": Kind, "name": Name, "return": str}
        return of_kind

    def of_kind_with_case(kind: Kind, name: Name, case: Case = "plain") -> str:  # type: ignore[valid-type]
        return look(kind, name, case)

    of_kind_with_case.__annotations__ = {"kind": Kind, "name": Name, "case": Case, "return": str}
    return of_kind_with_case
