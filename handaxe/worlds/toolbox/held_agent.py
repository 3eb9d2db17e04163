"""Scripted agent of held tools: searches, calls a fitting tool for each step, and searches again."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from handaxe.core.records import Message, Task, ToolCall
from handaxe.worlds.toolbox.catalogue import name_words
from handaxe.worlds.toolbox.held_tools import fitting_tools
from handaxe.worlds.toolbox.labelled_requests import LabelledRequest
from handaxe.worlds.toolbox.live_index import TextVectors
from handaxe.worlds.toolbox.questions import LONGEST_QUERY
from handaxe.worlds.world import Facts

__all__ = ["HeldAgent", "ToolScores", "cosine_scores"]

ToolScores = Callable[[Sequence[str], Sequence[Mapping[str, Any]]], Sequence[float]]
"""(texts, tools with name and description) -> a score for each tool; the highest is chosen."""


class HeldAgent:
    """Agent of one rollout with the box of `held_tools`; `speak` is its expert.

    For each step of the request in order, the agent calls the known tool that takes the arguments and has the highest
    score; tools of earlier steps come last. After a failed call the next tool follows. Without a further tool, the
    agent searches again, with the names of the arguments and then with request and names, and skips the step after the
    last search.

    Args:
        request: the request; the agent has the arguments of its calls.
        queries: of the first search; () for none.
        texts: parts of the request, for the scores.
        scores: of the tools.
        searches: further searches of a step, 0 to 2.
        known: lines of tools that are held already.

    Example:
        queries "area of a circle"; a result circle(radius); a call of circle; "there is no tool circle" -> a search
        with "radius"; a result circle_r2(radius); a call of circle_r2
    """

    def __init__(
        self,
        request: LabelledRequest,
        *,
        queries: Sequence[str],
        texts: Sequence[str],
        scores: ToolScores,
        searches: int = 0,
        known: Sequence[str] = (),
    ):
        self._request = request
        self._scores = scores
        self._searches = searches
        self._queries, self._texts = [text[:LONGEST_QUERY] for text in queries], list(texts)
        self._shown: dict[str, Mapping[str, Any]] = {}
        self._read(known)
        self._left = list(request.steps)
        self._used: list[str] = []
        self._failed: set[str] = set()
        self._again = 0
        self._called = ""
        self._begun = False

    def speak(self, task: Task, facts: Facts) -> Message:
        """Read the last reply, and act."""
        del task
        if facts["replies"]:
            self._take(facts["replies"][0], facts["statuses"][0])
        if self._queries and not self._begun:
            self._begun = True
            return _search(self._queries)
        while self._left:
            arguments = self._left[0]["arguments"]
            names = [name for name in fitting_tools(self._shown, arguments) if name not in self._failed]
            if names:
                scores = dict(zip(names, self._scores(self._texts, [self._shown[name] for name in names]), strict=True))
                self._called = min(names, key=lambda name: (name in self._used, -scores[name], name))
                return Message(
                    "assistant", "", (ToolCall("call_tool", {"name": self._called, "arguments": arguments}),)
                )
            if self._again < self._searches:
                self._again += 1
                return _search([self._words(arguments)])
            self._next()
        return Message("assistant", "done")

    def _take(self, reply: str, status: str) -> None:
        if not self._called:
            self._read(reply.splitlines() if status == "ok" else ())
        elif status == "ok":
            self._used.append(self._called)
            self._next()
        else:
            self._failed.add(self._called)
        self._called = ""

    def _next(self) -> None:
        self._left.pop(0)
        self._failed, self._again = set(), 0

    def _read(self, lines: Sequence[str]) -> None:
        for line in lines:
            if line.startswith("{"):
                tool = json.loads(line)
                self._shown[tool["name"]] = tool

    def _words(self, arguments: Mapping[str, Any]) -> str:
        names = " ".join(word for name in arguments for word in name_words(name))
        text = names if self._again == 1 and names else f"{self._request.text} {names}"
        return text[-LONGEST_QUERY:]


def cosine_scores(vectors: TextVectors) -> ToolScores:
    """Score tools by the highest cosine of name and description with any of the texts."""

    def scores(texts: Sequence[str], tools: Sequence[Mapping[str, Any]]) -> list[float]:
        described = [f"{' '.join(name_words(tool['name']))}. {tool['description']}" for tool in tools]
        cosines_NT = vectors(described) @ vectors(list(texts)).T
        return [float(one) for one in cosines_NT.max(axis=1)]

    return scores


def _search(queries: Sequence[str]) -> Message:
    return Message("assistant", "", (ToolCall("search_tools", {"queries": list(queries)}),))
