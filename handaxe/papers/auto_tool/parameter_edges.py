"""Edges between parameters of tools, and arguments filled from earlier calls and the goal."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from handaxe.core.errors import InputError

__all__ = ["ExecutedCall", "ParameterGraph", "ValueSlot", "call_slots", "goal_value"]

WORDS = 3
"""Words of a reply that are slots, from its begin and from its end."""
NUMBER = re.compile(r"\d+")


class ExecutedCall(NamedTuple):
    """Tool, arguments and reply of an executed call."""

    tool: str
    arguments: Mapping[str, Any]
    reply: str


class ValueSlot(NamedTuple):
    """Place of a value: a tool, and an input parameter ("in order_id") or a part of the reply ("out 0", "out -1",
    "out 1:-1" for all words between the first and the last)."""

    tool: str
    place: str


def call_slots(call: ExecutedCall) -> dict[ValueSlot, Any]:
    """List the values that later calls may take from a call.

    Example:
        get(order_id="#W1") with the reply "delivered 17 23 card"  ->  in order_id "#W1", out 0 "delivered", out -1
        "card", out 1:-1 ["17", "23"], and further words
    """
    found: dict[ValueSlot, Any] = {ValueSlot(call.tool, f"in {name}"): value for name, value in call.arguments.items()}
    words = call.reply.split()
    for place in range(min(WORDS, len(words))):
        found[ValueSlot(call.tool, f"out {place}")] = words[place]
        found[ValueSlot(call.tool, f"out {-1 - place}")] = words[-1 - place]
    if len(words) > 2:
        found[ValueSlot(call.tool, "out 1:-1")] = words[1:-1]
    return found


def goal_value(text: str, seen: Sequence[Any]) -> str | None:
    """Find the value of a parameter in the text of a goal.

    A value that the parameter had before and that occurs in the text, the longest first; or else the first word with
    the form of such a value, digits replaced. None if there is none.

    Example:
        "#W27 no longer needed", seen ["#W11"]  ->  "#W27";  seen ["no longer needed"]  ->  "no longer needed"

    Idea: heuristics from the goal, as in arXiv:2511.14650 (AutoTool), whose rules depend on the environment.
    """
    texts = sorted({one for one in seen if isinstance(one, str) and one}, key=lambda one: (-len(one), one))
    for one in texts:
        if re.search(rf"(?<!\w){re.escape(one)}(?!\w)", text):
            return one
    forms = {NUMBER.sub("0", one) for one in texts if NUMBER.search(one)}
    return next((word for word in text.split() if NUMBER.sub("0", word) in forms), None)


class ParameterGraph:
    """Edges from slots of earlier calls to parameters.

    An edge s -> B.p is counted when the value of p in an executed call of B equals the value of slot s in an earlier
    call of the trajectory (the latest call of its tool). A value is filled from

        1. the slot with the highest count, among those whose edge held in more than half of its chances
        2. the goal, see `goal_value`

    Args:
        least: share of its chances in which an edge must have held, 0 to 1.

    Raises:
        InputError: a share out of range.

    Example:
        graph.observe([get("#W1") -> "pending", cancel("#W1", "by mistake")]); later
        graph.fill("cancel", ["order_id"], [get("#W2") -> "pending"], goal="") == {"order_id": "#W2"}

    Paper: arXiv:2511.14650 (AutoTool), parameter dependency edges and hierarchical filling.
    Differs: edges by the words of a reply; the share keeps a chance equality, such as two customers with one reason,
    from filling a value. The state of the environment has no slots of its own.
    """

    def __init__(self, *, least: float = 0.5):
        if not 0 <= least <= 1:
            raise InputError(f"least is a share from 0 to 1, not {least}")
        self.least = least
        self._held: Counter[tuple[ValueSlot, str, str]] = Counter()
        self._chances: Counter[tuple[ValueSlot, str, str]] = Counter()
        self._seen: dict[tuple[str, str], list[Any]] = {}

    def observe(self, calls: Sequence[ExecutedCall]) -> None:
        """Count the edges of an executed trajectory."""
        for number, call in enumerate(calls):
            known = _latest(calls[:number])
            for name, value in call.arguments.items():
                self._seen.setdefault((call.tool, name), []).append(value)
                for slot, offered in known.items():
                    self._chances[slot, call.tool, name] += 1
                    self._held[slot, call.tool, name] += offered == value

    def fill(
        self, tool: str, parameters: Sequence[str], calls: Sequence[ExecutedCall], *, goal: str
    ) -> dict[str, Any] | None:
        """Fill all parameters of a call; None if one has no value.

        Args:
            tool: name.
            parameters: required ones.
            calls: executed calls of the trajectory, in order.
            goal: text of the user.
        """
        known, found = _latest(calls), dict[str, Any]()
        for name in parameters:
            ranked = sorted(
                (slot for slot in known if self._holds(slot, tool, name)),
                key=lambda slot: (-self._held[slot, tool, name], slot),
            )
            value = known[ranked[0]] if ranked else goal_value(goal, self._seen.get((tool, name), ()))
            if value is None:
                return None
            found[name] = value
        return found

    def edges(self, tool: str, parameter: str) -> Iterator[tuple[ValueSlot, int]]:
        """Yield the reliable edges of a parameter with their counts."""
        for slot, own_tool, name in self._held:
            if (own_tool, name) == (tool, parameter) and self._holds(slot, tool, name):
                yield slot, self._held[slot, tool, name]

    def _holds(self, slot: ValueSlot, tool: str, name: str) -> bool:
        held, chances = self._held[slot, tool, name], self._chances[slot, tool, name]
        return held > 0 and held > self.least * chances


def _latest(calls: Sequence[ExecutedCall]) -> dict[ValueSlot, Any]:
    """Slots of the latest call of each tool."""
    latest = {call.tool: call for call in calls}
    found: dict[ValueSlot, Any] = {}
    for call in latest.values():
        found |= call_slots(call)
    return found
