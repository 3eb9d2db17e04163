"""Tools of a built environment: documents, Python code that runs in the sandbox, merging, and further parameters."""

from __future__ import annotations

import copy
import functools
import json
import random
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from handaxe.core.errors import InputError, Retry
from handaxe.core.records import ToolSchema
from handaxe.tools.decorator import Tool
from handaxe.tools.definition import NAME
from handaxe.tools.draft_runner import run_draft
from handaxe.tools.tool_from_schema import tool_from_schema
from handaxe.worlds.hops.knowledge_base import KnowledgeBase

__all__ = ["LocalTool", "deploy", "gives", "lookup_code", "lookup_rows", "merge_pair", "with_width"]

MOCK = 4
"""Rows of a rule's tool beside those of the question."""


class LocalTool(NamedTuple):
    """Tool: name, description, required and optional parameters with descriptions, code, and function.

    Parameters are texts, except for the optional "width", a whole number.
    """

    name: str
    description: str
    parameters: Mapping[str, str]
    code: str
    function: str
    optional: Mapping[str, str] = {}

    @property
    def schema(self) -> ToolSchema:
        """Schema for a policy."""
        needed = {key: {"type": "string", "description": text} for key, text in self.parameters.items()}
        more = {key: {"type": "integer", "description": text} for key, text in self.optional.items()}
        properties = {**needed, **more}
        schema = {"type": "object", "properties": properties, "required": list(needed), "additionalProperties": False}
        return ToolSchema(self.name, self.description, schema)


def lookup_code(name: str, rows: Mapping[str, str]) -> str:
    """Write the code of a lookup with one parameter by rule.

    Example:
        ("boss", {"4071": "5526"}) defines boss("4071") -> "5526"; another name raises KeyError

    Paper: arXiv:2508.08791 (FTRL), local deployment as Python functions.
    Differs: a rule writes the code.
    """
    return (
        f"ROWS_{name} = {json.dumps(dict(rows))}\n\n\n"
        f"def {name}(name):\n"
        f"    if name not in ROWS_{name}:\n"
        f'        raise KeyError("no {name} of " + name)\n'
        f"    return ROWS_{name}[name]\n"
    )


def lookup_rows(known: KnowledgeBase, relation: str, names: Sequence[str], rng: random.Random) -> dict[str, str]:
    """Draw the rows of a lookup, for the names and a few other people.

    Example:
        ("boss", ["4071"]) -> {"1390": ..., "4071": "5526", ...}, five rows
    """
    others = sorted({name for name, own in known.facts if own == relation} - set(names))
    chosen = [*names, *rng.sample(others, min(MOCK, len(others)))]
    return {name: known.facts[name, relation] for name in sorted(chosen)}


def gives(tool: LocalTool, calls: Sequence[Mapping[str, Any]], answers: Sequence[str]) -> bool:
    """Test in the sandbox whether each call returns its answer.

    Raises:
        InfrastructureError: the sandbox died.

    Example:
        boss with the call {"name": "4071"} and the answer "5526"  ->  True

    Paper: arXiv:2508.08791 (FTRL), every call is executed and verified.
    Differs: nothing that is known.
    """
    try:
        found = run_draft(tool.code, tool.function, calls)
    except InputError:
        return False
    return all(not one.error and str(one.value) == answer for one, answer in zip(found, answers, strict=True))


def merge_pair(first: LocalTool, second: LocalTool) -> LocalTool | None:
    """Merge two tools with equal parameters into a tool with a parameter "kind"; None for others, and for a long name.

    The code of both stays, and a function calls one of them, so that a merge fits tools of any author.

    Example:
        boss(name) and heir(name)  ->  boss_or_heir(kind, name), kind "boss" or "heir"

    Paper: arXiv:2508.08791 (FTRL), function integration.
    Differs: tools with equal parameters are merged by program; a language model merges by intent in the paper.
    """
    if set(first.parameters) != set(second.parameters) or "kind" in first.parameters or first.name == second.name:
        return None
    name = f"{first.name}_or_{second.name}"
    if not NAME.fullmatch(name):
        return None
    given = ", ".join(first.parameters)
    passed = ", ".join(f"{key}={key}" for key in first.parameters)
    code = (
        f"{first.code}\n\n{second.code}\n\n"
        f"def {name}(kind, {given}):\n"
        f"    if kind == {first.name!r}:\n        return {first.function}({passed})\n"
        f"    if kind == {second.name!r}:\n        return {second.function}({passed})\n"
        f'    raise ValueError("kind is {first.name} or {second.name}")\n'
    )
    parameters = {"kind": f"{first.name} or {second.name}", **first.parameters}
    return LocalTool(name, f"{first.description} {second.description}", parameters, code, name)


def with_width(tool: LocalTool) -> LocalTool:
    """Add an optional parameter "width", the least number of characters of the result, filled with zeros.

    Example:
        boss("4071") -> "5526", boss("4071", width=6) -> "005526"

    Paper: arXiv:2508.08791 (FTRL), complexity scaling by further, optional parameters.
    Differs: one program for all tools; a language model extends documents in the paper.
    """
    given = ", ".join(tool.parameters)
    passed = ", ".join(f"{key}={key}" for key in tool.parameters)
    function = f"wide_{tool.function}"
    code = f"{tool.code}\n\ndef {function}({given}, width=0):\n    return str({tool.function}({passed})).zfill(width)\n"
    optional = {**tool.optional, "width": "least number of characters"}
    return tool._replace(code=code, function=function, optional=optional)


def deploy(tool: LocalTool) -> Tool:
    """Deploy a tool: each call runs its function in a new session of the sandbox; an error is status "retry".

    Raises:
        ToolDefinitionError: no tool name, or parameters of another form.

    Example:
        deploy(boss) replies "5526" to {"name": "4071"}

    Paper: arXiv:2508.08791 (FTRL), localized deployment.
    Differs: nothing that is known.
    """

    def run(arguments: dict[str, Any], context: Any) -> str:
        del context
        (found,) = run_draft(tool.code, tool.function, [arguments])
        if found.error:
            raise Retry(found.error)
        return str(found.value)

    shown = tool.schema
    made = copy.copy(_documented(shown.name, shown.description, json.dumps(dict(shown.parameters))))
    made.function = run
    return made


@functools.lru_cache(maxsize=4096)
def _documented(name: str, description: str, parameters: str) -> Tool:
    """A tool with a checked schema and without code; `deploy` makes copies with code."""
    return tool_from_schema(ToolSchema(name, description, json.loads(parameters)), _no_code, timeout=None)


def _no_code(arguments: dict[str, Any], context: Any) -> str:
    del arguments, context
    raise Retry("this tool has no code")
