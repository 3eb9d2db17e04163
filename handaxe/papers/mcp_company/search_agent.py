"""Scripted agent that searches tools in own words, and calls the first result that takes the arguments."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Mapping, Sequence
from typing import Any

from handaxe.core.errors import InputError
from handaxe.core.records import Message, Task, ToolCall
from handaxe.ops.seeds import derive_seed
from handaxe.worlds.world import Expert, Facts

__all__ = ["query_words", "search_agent"]


def search_agent(*, share: float = 1.0, searches: int = 1, seed: int = 0) -> Expert:
    """Make an agent for one rollout of a chain of the world `toolbox` in prose.

    For each step the agent searches, calls the first result with the parameters of the step, and takes the reply as
    result of the step, correct or not. Rejected calls go to the next result. Without a result that takes the
    arguments, the agent searches again in other words, and answers after the last search. Without the tools, the
    answer is 0.

    Args:
        share: share of the words of a step's question that a search has, above 0 up to 1.
        searches: most searches of a step, 1 or more.
        seed: of the words.

    Returns:
        An expert with state, for a single rollout.

    Raises:
        InputError: an argument out of range.

    Example:
        share 0.2 searches "radius area" for "Please compute the area of a circle with the radius 3"

    Paper: arXiv:2510.19286 (TheMCPCompany), the agent with find_tools and call_tool.
    Differs: scripted, with the arguments of the reference calls.
    """
    if not 0 < share <= 1 or searches < 1:
        raise InputError(
            f"an agent searches with a share of words in (0, 1], 1 time or more, not {share} and {searches}"
        )
    return _SearchAgent(share, searches, seed).speak


def query_words(text: str, share: float, seed: int) -> str:
    """Draw a share of the words of a text, in order; at least one.

    Example:
        query_words("area of a circle", 0.5, seed=0) has two of the four words
    """
    words = text.split()
    rng = random.Random(derive_seed("query words", text, seed))
    chosen = sorted(rng.sample(range(len(words)), max(1, math.ceil(share * len(words)))))
    return " ".join(words[place] for place in chosen)


class _SearchAgent:
    def __init__(self, share: float, searches: int, seed: int):
        self._share = share
        self._searches = searches
        self._seed = seed
        self._values: list[str] = []
        self._tried = 0
        self._results: list[str] = []

    def speak(self, task: Task, facts: Facts) -> Message:
        """Read the last replies, and act."""
        steps = task.metadata["steps"]
        if not {"find_tools", "call_tool"} <= set(facts["tools"]):
            return Message("assistant", "0")
        if facts["replies"]:
            self._read(steps, facts["replies"][0], facts["statuses"][0])
        number = len(self._values)
        if number == len(steps):
            return Message("assistant", self._values[-1])
        if self._results:
            arguments = _with_results(steps, number, self._values)
            return Message(
                "assistant", "", (ToolCall("call_tool", {"name": self._results[0], "arguments": arguments}),)
            )
        if self._tried == self._searches:
            return Message("assistant", "0")
        self._tried += 1
        query = query_words(steps[number]["query"], self._share, derive_seed(self._seed, number, self._tried))
        return Message("assistant", "", (ToolCall("find_tools", {"query": query}),))

    def _read(self, steps: Sequence[Mapping[str, Any]], reply: str, status: str) -> None:
        """Take a search result, a step's result, or a rejection."""
        if self._results:
            self._results.pop(0)
            if status == "ok":
                self._values.append(reply)
                self._results = []
                self._tried = 0
        elif status == "ok":
            wanted = set(steps[len(self._values)]["arguments"])
            self._results = [name for name, required, known in _listed(reply) if required <= wanted <= known]


def _listed(reply: str) -> list[tuple[str, set[str], set[str]]]:
    """Name, required and all parameters of each tool of a search result; lines that are no tool are skipped."""
    found: list[tuple[str, set[str], set[str]]] = []
    for line in reply.splitlines():
        try:
            shown = json.loads(line)
            taken = shown["parameters"]
            found.append((str(shown["name"]), set(taken.get("required", ())), set(taken["properties"])))
        except (ValueError, LookupError, TypeError, AttributeError):
            continue
    return found


def _with_results(steps: Sequence[Mapping[str, Any]], number: int, values: Sequence[str]) -> dict[str, Any]:
    """Arguments of a step with the received results in place of the reference results of the steps before."""
    arguments = dict(steps[number]["arguments"])
    for step, value in zip(steps[:number], values, strict=True):
        for key, given in arguments.items():
            if str(given) == str(step["value"]):
                arguments[key] = type(given)(value) if value.isdigit() else value
    return arguments
