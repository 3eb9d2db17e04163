"""Search tool and reference searches of worlds with documents."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from handaxe.core.records import Task, ToolCall
from handaxe.ops.cache_path import cache_path, content_digest
from handaxe.tools.decorator import Tool
from handaxe.tools.index.build_index import build_index
from handaxe.tools.search import search
from handaxe.worlds.parts.reference_calls import reference_calls
from handaxe.worlds.world import Facts

__all__ = ["cached_index", "reference_searches", "search_tool"]


def search_tool(documents: Sequence[dict[str, str]], *, world: str, results: int, snippet: int) -> Tool:
    """Create the tool `search` over documents; the index is cached by a digest of the documents.

    Args:
        documents: as for `build_index`.
        world: name of the cache folder.
        results: passages in a reply.
        snippet: character limit of a passage.

    Raises:
        InputError: an argument out of range, or a missing package (extra [search]).
    """
    find, _ = search(cached_index(documents, world=world), results=results, snippet=snippet)
    return find


def cached_index(documents: Sequence[dict[str, str]], *, world: str, chars: int = 800) -> Path:
    """Build the index of documents by words, unless the cache has it under a digest of documents and `chars`.

    Args:
        documents: as for `build_index`.
        world: name of the cache folder.
        chars: character limit of a passage, which is a page of `open`.

    Returns:
        The folder, for `search`.

    Raises:
        InputError: an argument out of range, or a missing package (extra [search]).
    """
    folder = cache_path(world, content_digest([json.dumps(list(documents)), str(chars)]))
    return build_index(list(documents), folder, dense=False, passage_chars=chars)


def reference_searches(task: Task, facts: Facts) -> Sequence[ToolCall]:
    """Return the reference calls of a task if the tool `search` is offered, else ()."""
    return reference_calls(task) if "search" in facts["tools"] else ()
