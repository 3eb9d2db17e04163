"""Conversations of many requests with one tool memory, in the autonomous, workflow and hybrid mode."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from handaxe.core.errors import Retry
from handaxe.core.records import Message, Task, ToolCall
from handaxe.envs.tool_chat import tool_chat
from handaxe.models.chat_formats.compact import Compact
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.toolbox.held_agent import HeldAgent, ToolScores
from handaxe.worlds.toolbox.held_tools import HeldBox, ToolMemory, ToolStore
from handaxe.worlds.toolbox.labelled_requests import LabelledRequest
from handaxe.worlds.world import Facts

__all__ = ["Habits", "MemoryAgent", "Mode", "PlayedTurn", "play_conversation"]

Mode = Literal["autonomous", "workflow", "hybrid"]
Prune = Callable[[str, Sequence[str]], Sequence[str]]
"""(request, held tools) -> tools to remove."""


class Habits(NamedTuple):
    """Habits of a scripted agent.

    removes: in the autonomous mode, removes unrelated tools before each search; otherwise only after a search that the
    limit refuses. parts: searches each part of a request, and again for a step without a tool; otherwise once with the
    request.

    Example:
        Habits(removes=True, parts=True) is the strong agent of the study, and Habits(False, False) the weak agent

    Idea: strong and weak language models differ in the use of the tools to search and to remove.
    """

    removes: bool
    parts: bool


class PlayedTurn(NamedTuple):
    """Turn of the user: added and removed tools, held ones after it, calls, correct calls, 1 if all steps are made.

    Example:
        PlayedTurn(3, 3, 3, 1, 1, 1.0): three tools replaced three others, and the only call was correct
    """

    added: int
    removed: int
    held: int
    calls: int
    useful: int
    complete: float


class MemoryAgent:
    """Agent of one request with the tools to search, to remove and to call; `speak` is its expert.

    Args:
        inner: agent that searches and calls.
        opening: tools that it removes first.
        relieve: tools to remove after a search that the limit refuses; the search is repeated once.

    Example:
        opening ["a"] -> remove_tools a; search_tools, refused -> remove_tools of relieve(); the same search_tools

    Paper: arXiv:2507.21428 (MemTool), tools for adding and removing in the autonomous mode.
    Differs: a script in place of a language model.
    """

    def __init__(self, inner: HeldAgent, opening: Sequence[str], relieve: Callable[[], Sequence[str]]):
        self._inner = inner
        self._opening = list(opening)
        self._relieve = relieve
        self._searched: Message | None = None
        self._repeated: Message | None = None

    def speak(self, task: Task, facts: Facts) -> Message:
        """Remove tools where the habit or the limit asks for it; otherwise act as the inner agent."""
        if self._opening:
            names, self._opening = self._opening, []
            return _remove(names)
        if self._repeated is not None:
            repeated, self._repeated = self._repeated, None
            return repeated
        if self._searched is not None and any(status != "ok" for status in facts["statuses"]):
            self._repeated, self._searched = self._searched, None
            return _remove(self._relieve())
        said = self._inner.speak(task, facts)
        self._searched = said if any(call.name == "search_tools" for call in said.calls) else None
        return said


def play_conversation(
    mode: Mode,
    requests: Sequence[LabelledRequest],
    *,
    store: ToolStore,
    prune: Prune,
    habits: Habits,
    texts: Mapping[str, Sequence[str]],
    scores: ToolScores,
    results: int = 5,
    limit: int = 128,
) -> list[PlayedTurn]:
    """Play consecutive requests of a user; tools stay held between them, messages do not.

        autonomous    the agent searches, removes and calls
        workflow      the tools of `prune` are removed, one search with the request adds tools; the agent only calls
        hybrid        the tools of `prune` are removed; the agent searches and calls. If the limit refuses a search,
                      `prune` is asked again

    Args:
        mode: see above.
        requests: of the user.
        store: the tools.
        prune: choice of tools to remove.
        habits: of the agent.
        texts: id of a request -> its parts.
        scores: choice among tools.
        results: k of a search; 5 in the paper.
        limit: L, most held tools; 128 in the paper.

    Returns:
        A turn per request.

    Example:
        hybrid, k 3, requests p, q and r of three tools each: added 3, 3, 3; removed 0, 3, 3; held 3, 3, 3

    Paper: arXiv:2507.21428 (MemTool), algorithms of the three modes.
    Differs: the agent is scripted, and a rule prunes; messages of earlier requests are left out instead of summarized.
    """
    memory = ToolMemory(limit)
    return [_play(mode, one, memory, store, prune, habits, texts[one.id], scores, results) for one in requests]


def _play(
    mode: Mode,
    request: LabelledRequest,
    memory: ToolMemory,
    store: ToolStore,
    prune: Prune,
    habits: Habits,
    texts: Sequence[str],
    scores: ToolScores,
    results: int,
) -> PlayedTurn:
    added, removed = memory.added, memory.removed
    if mode != "autonomous":
        memory.remove(prune(request.text, memory.held))
    if mode == "workflow":
        try:
            memory.add(store.retrieve(request.text, results))
        except Retry:
            memory.remove(memory.held[:results])
            memory.add(store.retrieve(request.text, results))
    searching = mode != "workflow"
    agent = HeldAgent(
        request,
        queries=((texts if habits.parts else (request.text,)) if searching else ()),
        texts=texts,
        scores=scores,
        searches=2 if searching and habits.parts else 0,
        known=[store.show(name) for name in memory.held],
    )
    removes = mode == "autonomous" and habits.removes
    opening = prune(request.text, memory.held) if removes else ()

    def relieve() -> Sequence[str]:
        chosen = prune(request.text, memory.held) if removes or mode == "hybrid" else ()
        return chosen or memory.held[: results * len(texts)]

    speaker = MemoryAgent(agent, opening, relieve)
    count = f"{len(memory.held)} of at most {memory.limit} tools are held."
    task = Task(request.id, (Message("system", count), Message("user", request.text)), None)
    played = demonstrate(
        tool_chat([lambda: HeldBox(store, memory, request.steps, results=results)]),
        task,
        speaker.speak,
        format=Compact(),
        id=request.id,
        max_turns=8 * len(request.steps) + 4,
    )
    report: Mapping[str, Any] = played.env["state"]["HeldBox"]
    return PlayedTurn(
        memory.added - added,
        memory.removed - removed,
        len(memory.held),
        report["calls"],
        report["useful"],
        float(all(report["made"])),
    )


def _remove(names: Sequence[str]) -> Message:
    return Message("assistant", "", (ToolCall("remove_tools", {"names": list(names)}),))
