"""Verification of plans before they are executed: tools, names and types of arguments, references."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from handaxe.papers.mnms.plan import PlanNode, references

__all__ = ["Signature", "verify_plan"]


class Signature(NamedTuple):
    """Types of a tool: argument -> type, and output key -> type. Any type may be given as text, but for "image"."""

    inputs: Mapping[str, str]
    outputs: Mapping[str, str]


def verify_plan(plan: Sequence[PlanNode], tools: Mapping[str, Signature]) -> list[str]:
    """Return the faults of a plan, in order of nodes; empty for a plan that can be executed.

    A fault is an unknown tool, a missing or unknown argument, a reference to a node that does not come before or to an
    output that its tool does not have, or an argument of another type than the output.

    Args:
        plan: nodes in order.
        tools: signatures by name.

    Example:
        ocr(picture="x") -> ["node 0: ocr takes image, not picture"]

    Paper: arXiv:2403.11085 (m&m's), the verifier; from its released code.
    Differs: types are compared for each reference, not for each pair of consecutive tools.
    """
    faults = list[str]()
    for number, node in enumerate(plan):
        known = tools.get(node.name)
        if known is None:
            faults.append(f"node {number}: there is no tool {node.name}")
        elif set(node.args) != set(known.inputs):
            faults.append(f"node {number}: {node.name} takes {_list(known.inputs)}, not {_list(node.args)}")
        else:
            faults += [f"node {number}: {fault}" for fault in _faulty_types(number, node, known, plan, tools)]
    return faults


def _faulty_types(
    number: int, node: PlanNode, known: Signature, plan: Sequence[PlanNode], tools: Mapping[str, Signature]
) -> list[str]:
    faults = list[str]()
    for key, value in node.args.items():
        found = references(value)
        if known.inputs[key] == "image" and not found:
            faults.append(f"{key} is no image")
        for source, output in found:
            if source >= number:
                faults.append(f"node {source} does not come before")
                continue
            outputs = tools[plan[source].name].outputs if plan[source].name in tools else {}
            if output not in outputs:
                faults.append(f"node {source} has no output {output}")
            elif (outputs[output] == "image") != (known.inputs[key] == "image"):
                faults.append(f"{key} is {known.inputs[key]}, not {outputs[output]}")
    return faults


def _list(names: Mapping[str, str]) -> str:
    return " ".join(names) or "nothing"
