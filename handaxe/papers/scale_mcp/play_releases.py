"""Rollouts of an agent over the tools of a running MCP server."""

from __future__ import annotations

import contextlib
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from handaxe.core.records import Message, Task, ToolReply
from handaxe.envs.tool_chat import tool_chat
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.scale_mcp.mcp_store import McpStore, schema_entry
from handaxe.papers.scale_mcp.release_tools import ServedTools
from handaxe.papers.scale_mcp.sync_index import SyncedIndex
from handaxe.tools.mcp_session import McpSession, Server
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.toolbox.catalogue import ToolEntry
from handaxe.worlds.toolbox.held_agent import HeldAgent, cosine_scores
from handaxe.worlds.toolbox.held_tools import HeldBox, ToolMemory, ToolStore
from handaxe.worlds.toolbox.labelled_requests import LabelledRequest
from handaxe.worlds.toolbox.live_index import LiveIndex, TextVectors
from handaxe.worlds.toolbox.tool_documents import tool_document

__all__ = [
    "FIELDS", "McpStore", "PlayedTools", "ReleasingStore", "catalogue_session", "make_store", "play_tools",
]  # fmt: skip

FIELDS = ("name", "description", "arguments")
"""Fields of the index that is kept in step."""
STARTUP = 120.0
"""Seconds until the server must be ready."""


class PlayedTools(NamedTuple):
    """Of a rollout: 1 if every needed function was held at the end, share of steps with a correct call, correct calls
    over calls, and held tools."""

    sufficient: float
    made: float
    correct: float
    held: int


@contextlib.contextmanager
def catalogue_session(
    entries: Sequence[ToolEntry], reserve: Sequence[ToolEntry], *, needed: Sequence[str], share: float, seed: int
) -> Iterator[tuple[McpSession, ServedTools]]:
    """Start a server process over stdio with the given tools, and open a session; both end with the block.

    Args: as for `ServedTools`.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tools.json"
        served = ServedTools(path, entries, reserve, needed=needed, share=share, seed=seed)
        command = (sys.executable, "-m", "handaxe.papers.scale_mcp.catalogue_server", str(path))
        root = str(Path(__file__).parents[3])
        session = McpSession(Server(command, env={"PYTHONPATH": root}, cwd=Path(folder)), startup=STARTUP)
        try:
            yield session.wait(), served
        finally:
            session.close()


def make_store(session: McpSession, served: ServedTools, vectors: TextVectors, *, keep_in_step: bool) -> McpStore:
    """Make a store whose index equals the server's list of now."""
    index = LiveIndex(vectors, fields=FIELDS)
    synced = SyncedIndex(index, lambda schema: tool_document(schema_entry(schema)))
    made = McpStore(session, synced, lambda name: served.entries.get(name), keep_in_step=keep_in_step)
    made.sync()
    return made


class ReleasingStore:
    """Store whose server publishes a release in each rollout, before the first call.

    Args:
        inner: store of the server; in step or not.
        served: operator of the server.
    """

    def __init__(self, inner: McpStore, served: ServedTools):
        self._inner, self._served = inner, served
        self._mismatches: list[int] = []

    def store(self) -> ToolStore:
        """Make the store of a rollout; an index that is kept in step is compared with the server's list."""
        inner, released = self._inner.store(), list[int]()
        if self._inner.in_step:
            self._inner.sync()
            self._mismatches.append(self._inner.mismatches())

        def call(name: str, arguments: Mapping[str, Any]) -> ToolReply:
            if not released:
                self._served.change()
                released.append(self._served.release)
            return inner.call(name, arguments)

        return inner._replace(call=call)

    def figures(self, arm: str) -> dict[str, float]:
        """Figures of the index after all rollouts; see `scale_mcp`."""
        if not self._inner.in_step:
            return {f"{arm}/mismatches": float(self._inner.mismatches())}
        self._inner.sync()
        self._mismatches.append(self._inner.mismatches())
        changes, releases = self._inner.changes[1:], self._served.release - 1
        return {
            "sync/releases": float(releases),
            "sync/changes": float(sum(len(names) for one in changes for names in one)),
            "sync/mismatches": float(sum(self._mismatches)),
            "sync/embedded": sum(one.written for one in changes) / (releases * len(self._served.entries)),
        }


def play_tools(
    store: ToolStore,
    request: LabelledRequest,
    *,
    vectors: TextVectors,
    queries: Sequence[str],
    texts: Sequence[str],
    results: int,
    searches: int,
) -> PlayedTools:
    """Play the agent on a request, with an empty memory.

    Args:
        store: the tools.
        request: the request.
        vectors: for the choice among fitting tools, by the cosine of the parts and the tools' lines.
        queries: of the first search.
        texts: parts of the request.
        results: k, tools of a query.
        searches: further searches of a step.
    """
    memory = ToolMemory()
    scores = cosine_scores(vectors)
    agent = HeldAgent(request, queries=queries, texts=texts, scores=scores, searches=searches)
    played = demonstrate(
        tool_chat([lambda: HeldBox(store, memory, request.steps, results=results)]),
        Task(request.id, (Message("user", request.text),), None),
        agent.speak,
        format=Compact(),
        id=request.id,
        max_turns=6 * len(request.steps) + 2,
    )
    report = played.env["state"]["HeldBox"]
    functions = {entry.function for name in report["held"] if (entry := store.entry(name)) is not None}
    needed = {step["function"] for step in request.steps}
    return PlayedTools(
        float(needed <= functions),
        sum(report["made"]) / len(report["made"]),
        report["useful"] / report["calls"] if report["calls"] else 0.0,
        len(report["held"]),
    )
