"""What worlds that are searched have in common: the tool over documents of theirs, and what counts as an answer."""

from __future__ import annotations

import json
from collections.abc import Sequence

from handaxe.core.records import Task, ToolCall, Turn
from handaxe.ops.cache import cached, digest
from handaxe.tools.decorator import Tool
from handaxe.tools.index.build import build_index
from handaxe.tools.search import search
from handaxe.worlds.sums import kept_calls
from handaxe.worlds.world import Facts

__all__ = ["answers_in_words", "gold_searches", "search_tool"]


def search_tool(documents: Sequence[dict[str, str]], *, world: str, results: int, snippet: int) -> Tool:
    """The tool `search` over documents, whose index is made once and kept in the cache folder by digest of them.

    Args:
        documents: as `build_index` takes them.
        world: whose they are; the folder in the cache.
        results: passages that a search shows.
        snippet: most characters shown of a passage.

    Raises:
        InputError: an argument out of range, or a missing package (extra [search]).
    """
    folder = cached(world, digest([json.dumps(list(documents))]))
    find, _ = search(build_index(list(documents), folder, dense=False), results=results, snippet=snippet)
    return find


def answers_in_words(turn: Turn) -> bool:
    """Whether a turn has text and no call: an answer, in worlds where answers are words."""
    return bool(turn.parsed.text.strip()) and not turn.parsed.calls


def gold_searches(task: Task, facts: Facts) -> Sequence[ToolCall]:
    """The calls that a task keeps as reference, where searching is offered."""
    return kept_calls(task) if "search" in facts["tools"] else ()
