"""Checklist of exploration and verification clues within a budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from handaxe.core.errors import InputError

__all__ = ["BudgetNode", "BudgetPlan", "NodeStatus", "budget_plan"]

NodeStatus = Literal["pending", "done", "failed", "partial"]
SIGNS: dict[NodeStatus, str] = {"pending": "[ ]", "done": "[x]", "failed": "[!]", "partial": "[~]"}


@dataclass
class BudgetNode:
    """Step of a plan. Text and kind never change; status and calls do.

    calls   used calls by tool
    """

    kind: Literal["explore", "verify"]
    text: str
    status: NodeStatus = "pending"
    calls: dict[str, int] = field(default_factory=dict)


class BudgetPlan:
    """Append-only checklist.

    Attributes:
        nodes: in order of their making; a copy.

    Example:
        plan.update("boss 4071", "done", {"find": 3}); plan.text() is "plan: [x] explore boss 4071 (find 3)"
    """

    def __init__(self) -> None:
        self._nodes: list[BudgetNode] = []

    @property
    def nodes(self) -> tuple[BudgetNode, ...]:
        return tuple(self._nodes)

    def append(self, node: BudgetNode) -> None:
        """Add a node at the end; a second node of the same kind and text is ignored."""
        if all((one.kind, one.text) != (node.kind, node.text) for one in self._nodes):
            self._nodes.append(node)

    def update(self, text: str, status: NodeStatus, calls: Mapping[str, int]) -> None:
        """Set the status of all nodes with a text, and add calls to the first.

        Raises:
            InputError: there is no such node.
        """
        own = [node for node in self._nodes if node.text == text]
        if not own:
            raise InputError(f"the plan has no node {text!r}: append one first")
        for node in own:
            node.status = status
        for tool, count in calls.items():
            own[0].calls[tool] = own[0].calls.get(tool, 0) + count

    def text(self) -> str:
        """Write the checklist on one line, for the policy."""
        return "plan: " + "; ".join(map(_line, self._nodes))


def budget_plan(clues: Sequence[str], *, remaining: int, cost: int) -> BudgetPlan:
    """Plan exploration clues within the remaining searches; further clues verify.

        explore the first e = min(C, max(1, floor(remaining / cost))) of the C clues

    Args:
        clues: C of them, in the order of the question.
        remaining: searches left.
        cost: searches that a clue needs, an estimate, >= 1.

    Raises:
        InputError: no clue, or numbers out of range.

    Example:
        3 clues, 7 searches of 3 a clue  ->  explore two, verify one

    Paper: arXiv:2511.17006 (BATS), section 4, budget-aware planning: exploration and verification clues, and a
        checklist that is never rewritten, with status and use of each node.
    Unconfirmed: the signs of the statuses, from memory.
    Differs: a rule assigns clues; the paper's language model does.
    """
    if not clues or remaining < 0 or cost < 1:
        raise InputError(f"give 1 clue or more, remaining 0 or more, cost 1 or more: {len(clues)}, {remaining}, {cost}")
    explored = min(len(clues), max(1, remaining // cost))
    plan = BudgetPlan()
    for number, clue in enumerate(clues):
        plan.append(BudgetNode("explore" if number < explored else "verify", clue))
    return plan


def _line(node: BudgetNode) -> str:
    calls = ", ".join(f"{tool} {count}" for tool, count in node.calls.items())
    return f"{SIGNS[node.status]} {node.kind} {node.text}{f' ({calls})' if calls else ''}"
