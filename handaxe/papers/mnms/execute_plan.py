"""Execution of plans: node by node, with references replaced by outputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from handaxe.core.images import Image
from handaxe.papers.mnms.plan import REFERENCE, PlanError, PlanNode, references

__all__ = ["Run", "execute_plan"]

Run = Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""Arguments -> outputs of a tool by key, the main output first. Raises PlanError."""


def execute_plan(plan: Sequence[PlanNode], tools: Mapping[str, Run]) -> str:
    """Execute a verified plan and return the main output of its last node.

    Args:
        plan: verified nodes in order.
        tools: by name.

    Raises:
        PlanError: a tool fails, or the last output is an image; the message names the node.

    Example:
        zoom(box="6 6 8 8");ocr(image=n0.image) -> "4071"

    Paper: arXiv:2403.11085 (m&m's), the execution of plans.
    Differs: the result is the output of the last node alone.
    """
    outputs = list[Mapping[str, Any]]()
    for number, node in enumerate(plan):
        try:
            outputs.append(tools[node.name]({key: _resolved(value, outputs) for key, value in node.args.items()}))
        except PlanError as error:
            raise PlanError(f"execute: node {number}: {error}") from error
    result = next(iter(outputs[-1].values()))
    if isinstance(result, Image):
        raise PlanError("execute: the last node gives an image")
    return str(result)


def _resolved(value: str, outputs: Sequence[Mapping[str, Any]]) -> Any:
    """Replace references. An argument that is one reference takes the output as it is, such as an image."""
    found = references(value)
    if len(found) == 1 and REFERENCE.fullmatch(value):
        node, key = found[0]
        return outputs[node][key]
    return REFERENCE.sub(lambda match: str(outputs[int(match[1])][match[2]]), value)
