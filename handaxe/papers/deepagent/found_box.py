"""Tool box of a rollout whose tools can be called after a search found them, with replies by a rule or a simulator."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from handaxe.core.errors import Retry
from handaxe.core.records import ToolCall
from handaxe.tools.decorator import tool
from handaxe.worlds.toolbox.box import BriefBox
from handaxe.worlds.toolbox.catalogue import Catalogue, ToolEntry
from handaxe.worlds.toolbox.questions import accepts

__all__ = ["CALL", "FIND", "FOLD", "FoundBox"]

FIND = "find_tools"
CALL = "call_tool"
FOLD = "fold_memory"
NUMBER = re.compile(r"-?\d{1,300}(\.\d{1,300})?", re.ASCII)
"""Number that a simulator writes; finite."""


class FoundBox(BriefBox):
    """Tools `find_tools`, `call_tool` and `fold_memory`.

    A tool enters the rollout with the search result that lists it. A call returns the text that a simulator has given
    for it (`give`), or else the stub's result. The result of a step is the text that the rollout has seen: a later step
    accepts this text as its chained argument.

        chained argument of step k accepts the result of step k - 1; without a simulator, as in `toolbox`

    Args:
        catalogue: all tools.
        steps: of the task.
        results: tools in a search result.

    Example:
        find_tools("5526") -> "t417 a"; call_tool("t417", {"a": 25}) -> "4071"; call_tool("t230", ...) before a search
        that lists t230 -> status "retry"

    Paper: arXiv:2510.21618 (DeepAgent), tool search, tool call and memory fold as actions; APIs simulated by a model.
    Differs: search by BM25, where the paper has dense embeddings; a tool that no search listed cannot be called.
    """

    def __init__(self, catalogue: Catalogue, steps: Sequence[Mapping[str, Any]], *, results: int):
        super().__init__(catalogue, steps, results=results)
        self._entered: dict[str, None] = {}
        self._given: dict[str, str] = {}
        self._seen: list[str | None] = [None] * len(steps)
        self._counts = {"folds": 0, "calls": 0, "useful": 0}

    @tool(timeout=None, max_chars=2_000)
    def find_tools(self, query: Annotated[str, "key words"]) -> str:
        """Search the tools. Each line of the result is a tool with its name and parameters."""
        lines = self._find(query, self._results)
        self._entered |= dict.fromkeys(line.split()[0] for line in lines.splitlines())
        return lines

    @tool(timeout=None)
    def call_tool(
        self, name: Annotated[str, "of a found tool"], arguments: Annotated[dict[str, Any], "of the tool"]
    ) -> str:
        """Call a tool that find_tools found."""
        self._counts["calls"] += 1
        entry = self._entry(name)
        reply = self._catalogue.call(name, arguments)
        if reply.status == "invalid":
            raise Retry(reply.content)
        return self._value(entry, arguments, self._given.get(_key(name, arguments), ""))

    @tool(timeout=None)
    def fold_memory(self) -> str:
        """Fold your memory: from the next turn on you read the task and three memories of the work so far."""
        self._counts["folds"] += 1
        return "folded"

    def described(self, call: ToolCall) -> str | None:
        """Document of a call's tool, as JSON, if the call can be simulated: a found tool with accepted arguments, and
        no text given before. None otherwise."""
        name, arguments = call.arguments.get("name"), call.arguments.get("arguments")
        if call.name != CALL or not isinstance(name, str) or not isinstance(arguments, Mapping):
            return None
        if name not in self._entered or _key(name, arguments) in self._given:
            return None
        if self._catalogue.call(name, arguments).status == "invalid":
            return None
        return json.dumps(self._catalogue.entries[name].document)

    def give(self, call: ToolCall, text: str) -> None:
        """Store a simulator's reply: equal calls of the rollout have equal replies."""
        self._given[_key(call.arguments["name"], call.arguments["arguments"])] = text

    def report(self) -> dict[str, Any]:
        """By step, found and made; the result of the last step, "" before; counts of folds, calls and useful calls."""
        return {
            **super().report(),
            "result": self._seen[-1] or "",
            "entered": len(self._entered),
            **self._counts,
        }

    def snapshot(self) -> Any:
        return (
            super().snapshot(),
            dict(self._entered),
            dict(self._given),
            list(self._seen),
            dict(self._counts),
        )

    def restore(self, state: Any) -> None:
        inner, entered, given, seen, counts = state
        super().restore(inner)
        self._entered, self._given = dict(entered), dict(given)
        self._seen, self._counts = list(seen), dict(counts)

    def _entry(self, name: str) -> ToolEntry:
        if name not in self._entered:
            raise Retry(f"the tool {name[:80]!r} is not found yet: search for it with {FIND}")
        return self._catalogue.entries[name]

    def _value(self, entry: ToolEntry, arguments: Mapping[str, Any], content: str) -> str:
        """Result of a call; `content` is the simulator's text, or ""."""
        for number in range(len(self._steps)):
            step = self._step(number)
            if accepts(step, entry, arguments):
                self._counts["useful"] += not self._made[number]
                self._made[number] = True
                self._seen[number] = content or str(step["value"])
                return str(self._seen[number])
        return content or self._catalogue.call(entry.name, arguments).content

    def _step(self, number: int) -> Mapping[str, Any]:
        """The step with the seen result of the step before as chained argument."""
        step = self._steps[number]
        before = self._seen[number - 1] if number else None
        if before is None or before == str(self._steps[number - 1]["value"]):
            return step
        value = _value_of(before)
        chained = self._steps[number - 1]["value"]
        accepted = {name: [value if one == chained else one for one in own] for name, own in step["accepted"].items()}
        return {**step, "accepted": accepted}


def _value_of(text: str) -> Any:
    """Value of a result as an argument: a number in digits, or else the text.

    Example:
        "77" -> 77; "-3.5" -> -3.5; "about six" -> "about six"
    """
    if not NUMBER.fullmatch(text):
        return text
    return float(text) if "." in text else int(text)


def _key(name: str, arguments: Mapping[str, Any]) -> str:
    return json.dumps([name, dict(arguments)], sort_keys=True)
