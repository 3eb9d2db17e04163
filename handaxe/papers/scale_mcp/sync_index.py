"""Index of tools synchronized with an MCP server by hashes of tools."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from handaxe.core.records import ToolSchema
from handaxe.worlds.toolbox.live_index import LiveIndex
from handaxe.worlds.toolbox.tool_documents import ToolDocument

__all__ = ["Changes", "SyncedIndex", "plan_changes", "tool_hash"]


class Changes(NamedTuple):
    """Names of tools to create, to update and to delete, each in ascending order."""

    created: tuple[str, ...]
    updated: tuple[str, ...]
    deleted: tuple[str, ...]

    @property
    def written(self) -> int:
        """Number of documents to embed: created and updated ones."""
        return len(self.created) + len(self.updated)


def tool_hash(schema: ToolSchema) -> str:
    """Compute SHA-256 of name, description and parameters; the order of JSON keys does not matter.

    Paper: arXiv:2505.06416 (ScaleMCP), hash of a tool's name, description and parameters.
    Differs: nothing known.
    """
    parts: list[Any] = [schema.name, schema.description, dict(schema.parameters)]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def plan_changes(stored: Mapping[str, str], listed: Mapping[str, str]) -> Changes:
    """Compare stored hashes with those of the server, the single source of truth.

        create   names that are listed and not stored
        update   names that are both, with different hashes
        delete   names that are stored and not listed

    Args:
        stored, listed: name -> hash.

    Example:
        stored {a: h1, b: h2}, listed {a: h1, b: h3, c: h4}  ->  create c, update b, delete nothing

    Paper: arXiv:2505.06416 (ScaleMCP), the auto-synchronizing tool storage pipeline.
    Differs: nothing known.
    """
    both = stored.keys() & listed.keys()
    return Changes(
        tuple(sorted(listed.keys() - stored.keys())),
        tuple(sorted(name for name in both if stored[name] != listed[name])),
        tuple(sorted(stored.keys() - listed.keys())),
    )


class SyncedIndex:
    """Index with the hash of each stored tool.

    Args:
        index: of the stored tools; empty at first.
        document: schema -> document.

    Attributes:
        schemas: name -> stored schema.

    Example:
        SyncedIndex(index, document).sync(listed) returns the changes; a second call changes nothing
    """

    def __init__(self, index: LiveIndex, document: Callable[[ToolSchema], ToolDocument]):
        self.index = index
        self.schemas: dict[str, ToolSchema] = {}
        self._document = document
        self._hashes: dict[str, str] = {}

    def sync(self, listed: Sequence[ToolSchema]) -> Changes:
        """Make the index equal to the list of a server; unchanged tools are not written.

        Args:
            listed: all tools of the server, with unique names.
        """
        found = {one.name: one for one in listed}
        hashes = {name: tool_hash(one) for name, one in found.items()}
        changes = plan_changes(self._hashes, hashes)
        self.index.remove(changes.deleted)
        self.index.put([self._document(found[name]) for name in (*changes.created, *changes.updated)])
        self.schemas, self._hashes = found, hashes
        return changes

    def mismatches(self, listed: Sequence[ToolSchema]) -> int:
        """Count differences between stored and listed tools."""
        hashes = {one.name: tool_hash(one) for one in listed}
        return sum(map(len, plan_changes(self._hashes, hashes)))
