"""Plans of tool calls: a list of nodes as JSON, or the equivalent calls as code.

    JSON   [{"id": 0, "name": "zoom", "args": {"box": "6 6 8 8"}},
            {"id": 1, "name": "ocr", "args": {"image": "<node-0>.image"}}]
    code   zoom(box="6 6 8 8");ocr(image=n0.image)

A reference `<node-K>.KEY`, in code `nK.KEY`, stands for the output KEY of node K. An argument of code is a text in
quotes or an expression of numbers and references.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

__all__ = ["PlanError", "PlanNode", "REFERENCE", "parse_plan", "plan_as_code", "plan_as_json", "references"]

CALL = re.compile(r"\s*(?P<name>[A-Za-z_]\w*)\((?P<args>.*)\)\s*", re.DOTALL)
ARGUMENT = re.compile(r'\s*(?P<key>[A-Za-z_]\w*)=(?:"(?P<text>[^"]*)"|(?P<value>[^",]+))\s*(?:,|$)')
SEPARATOR = re.compile(r'[;\n](?=(?:[^"]*"[^"]*")*[^"]*$)')
"""A semicolon or a line break outside quotes."""
REFERENCE = re.compile(r"<node-(\d+)>\.(\w+)")
SHORT = re.compile(r"\bn(\d+)\.(\w+)")


class PlanError(Exception):
    """A plan that cannot be parsed or executed; the message is for the policy."""


class PlanNode(NamedTuple):
    """A call of a plan: tool and arguments, in which references have the form of JSON."""

    name: str
    args: dict[str, str]


def parse_plan(text: str) -> list[PlanNode]:
    """Parse a plan in either form.

    Raises:
        PlanError: the text is neither; the message names the place.

    Example:
        'ocr(image=n0.image)' -> [PlanNode("ocr", {"image": "<node-0>.image"})]

    Paper: arXiv:2403.11085 (m&m's), both formats of plans.
    Differs: code has calls alone, without names of variables.
    """
    if not text.strip():
        raise PlanError("parse: the plan is empty")
    return _from_json(text) if text.lstrip().startswith("[") else list(_from_code(text))


def plan_as_json(plan: Sequence[PlanNode]) -> str:
    """Write a plan as JSON."""
    return json.dumps([{"id": number, "name": node.name, "args": node.args} for number, node in enumerate(plan)])


def plan_as_code(plan: Sequence[PlanNode]) -> str:
    """Write a plan as code. An argument with a reference is written without quotes."""
    return ";".join(f"{node.name}({','.join(_written(*item) for item in node.args.items())})" for node in plan)


def references(value: str) -> list[tuple[int, str]]:
    """Return node and key of every reference in an argument."""
    return [(int(node), key) for node, key in REFERENCE.findall(value)]


def _from_json(text: str) -> list[PlanNode]:
    try:
        rows = json.loads(text)
    except ValueError as error:
        raise PlanError(f"parse: the plan is not JSON: {error}") from error
    for number, row in enumerate(rows):
        if not isinstance(row, dict) or not isinstance(row.get("name"), str) or not isinstance(row.get("args"), dict):
            raise PlanError(f"parse: node {number} needs a name and args")
        if row.get("id", number) != number:
            raise PlanError(f"parse: node {number} has the id {row['id']}")
    return [PlanNode(row["name"], {key: str(value) for key, value in row["args"].items()}) for row in rows]


def _from_code(text: str) -> Iterator[PlanNode]:
    for number, part in enumerate(SEPARATOR.split(text.strip())):
        call = CALL.fullmatch(part)
        if call is None:
            raise PlanError(f"parse: node {number} is no call")
        args = dict[str, str]()
        rest = call["args"]
        while rest.strip():
            found = ARGUMENT.match(rest)
            if found is None:
                raise PlanError(f"parse: node {number} has a bad argument")
            value = found["text"]
            args[found["key"]] = SHORT.sub(r"<node-\1>.\2", found["value"].strip()) if value is None else value
            rest = rest[found.end() :]
        yield PlanNode(call["name"], args)


def _written(key: str, value: str) -> str:
    short = REFERENCE.sub(r"n\1.\2", value)
    return f"{key}={short}" if references(value) else f'{key}="{value}"'
