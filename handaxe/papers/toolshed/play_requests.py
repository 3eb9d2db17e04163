"""Scripted agent that gets the retrieved tools of a request and calls one for each step."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from handaxe.core.records import Message, Task, ToolCall, Trajectory
from handaxe.envs.tool_chat import tool_chat
from handaxe.models.chat_formats.compact import Compact
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.toolbox.held_tools import HeldBox, ToolMemory, ToolStore, fitting_tools
from handaxe.worlds.toolbox.labelled_requests import LabelledRequest
from handaxe.worlds.world import Expert, Facts

__all__ = ["Chooser", "PlayedRequest", "choosing_agent", "play_request"]

Chooser = Callable[[str, Sequence[str]], Sequence[float]]
"""(text, names of tools) -> a score for each; the highest is chosen."""


class PlayedRequest(NamedTuple):
    """Share of steps with a correct call, and tokens of the conversation that the agent reads."""

    made: float
    read: int


def choosing_agent(request: LabelledRequest, parts: Sequence[str], scores: Chooser) -> Expert:
    """Make an agent for one rollout: a search with the request, then one call for each step.

    For a step the agent calls the held tool that takes the arguments of the step and has the highest score for any part
    of the request; tools of earlier steps are taken last. A step without such a tool is skipped.

    Args:
        request: the request; its arguments are the agent's.
        parts: sub-queries of the request.
        scores: of tools for a part.

    Example:
        held a, b and c, of which b and c take the arguments, scores 0.9, 0.2 and 0.4  ->  a call of c
    """
    shown: dict[str, Mapping[str, Any]] = {}
    used: list[str] = []
    left = list(request.steps)

    def speak(task: Task, facts: Facts) -> Message:
        del task
        if facts["turn"] == 0:
            return Message("assistant", "", (ToolCall("search_tools", {"queries": [request.text[:500]]}),))
        if facts["turn"] == 1 and facts["replies"]:
            shown.update((str(tool["name"]), tool) for tool in map(json.loads, facts["replies"][0].splitlines()))
        while left:
            step = left.pop(0)
            names = fitting_tools(shown, step["arguments"])
            if names:
                best = [max(own) for own in zip(*(scores(part, names) for part in parts), strict=True)]
                name = min(names, key=lambda one: (one in used, -best[names.index(one)], one))
                used.append(name)
                return Message(
                    "assistant", "", (ToolCall("call_tool", {"name": name, "arguments": step["arguments"]}),)
                )
        return Message("assistant", "done")

    return speak


def play_request(
    store: ToolStore, request: LabelledRequest, *, parts: Sequence[str], scores: Chooser, count: int
) -> PlayedRequest:
    """Play the agent on a request with the first `count` retrieved tools.

    Args:
        store: the tools; one search of the request retrieves them.
        request: the request.
        parts: sub-queries of the request, for the choice among the tools.
        scores: of tools for a part.
        count: k, tools of the search.
    """
    task = Task(request.id, (Message("user", request.text),), None)
    memory = ToolMemory()
    played = demonstrate(
        tool_chat([lambda: HeldBox(store, memory, request.steps, results=count)]),
        task,
        choosing_agent(request, parts, scores),
        format=Compact(),
        id=request.id,
        max_turns=len(request.steps) + 2,
    )
    made = played.env["state"]["HeldBox"]["made"]
    return PlayedRequest(sum(made) / len(made), _read(played))


def _read(played: Trajectory) -> int:
    """Tokens that a policy reads in all turns: every turn reads the conversation before it."""
    return sum(turn.start for turn in played.turns)
