"""Catalogue of tools with a search index and a deterministic stub per schema."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from handaxe import tools
from handaxe.core.records import ToolCall, ToolReply
from handaxe.ops.cache_path import cache_path, content_digest
from handaxe.ops.seeds import derive_seed
from handaxe.tools.decorator import Tool
from handaxe.tools.index.build_index import build_index
from handaxe.tools.index.search_index import open_index
from handaxe.worlds.bfcl.notation import NOTATIONS, Notation
from handaxe.worlds.bfcl.package import SINGLE_TURN, read_questions, tool_schema
from handaxe.worlds.parts.content_split import content_split
from handaxe.worlds.world import Split

__all__ = ["Catalogue", "ToolEntry", "full_catalogue", "function_split", "name_words", "read_schemas", "stub_value"]

MOST_STUBS = 1024
"""Number of stubs in memory; construction takes some milliseconds."""
LONGEST = 20_000
"""Character limit of an indexed passage, above the length of every tool: a tool is a single passage."""
WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")


class ToolEntry(NamedTuple):
    """Tool of a catalogue.

    name: unique in the catalogue. function: the package's name, equal for all schemas of a function. document: the
    package's description under the unique name. category: first category with the tool. text: indexed text. shown: line
    in a search result.
    """

    name: str
    function: str
    document: Mapping[str, Any]
    category: str
    text: str
    shown: str

    @property
    def notation(self) -> Notation | None:
        """Notation of the arguments, Java's or JavaScript's; None is JSON."""
        return NOTATIONS.get(self.category)

    @property
    def signature(self) -> tuple[str, ...]:
        """Function and names of the parameters."""
        return self.function, *self.document["parameters"]["properties"]


class Catalogue:
    """Tools with an index; thread-safe. The index is cached by a digest of the texts (HANDAXE_CACHE).

    Args:
        entries: tools with unique names.

    Raises:
        InputError: a missing package (extras [search] and [mcp]).
    """

    def __init__(self, entries: Sequence[ToolEntry]):
        self.entries: Mapping[str, ToolEntry] = {entry.name: entry for entry in entries}
        documents = [{"id": entry.name, "text": entry.text} for entry in entries]
        folder = cache_path("toolbox", content_digest([json.dumps(documents)]))
        self._index = open_index(build_index(documents, folder, dense=False, passage_chars=LONGEST))
        self._tool_from_schema = tools.tool_from_schema  # raises now without jsonschema
        self._stub = functools.lru_cache(maxsize=MOST_STUBS)(self._make_stub)

    def __len__(self) -> int:
        return len(self.entries)

    def find(self, query: str, count: int) -> list[ToolEntry]:
        """Rank the tools by BM25. Among schemas with equal function and parameter names, only the best is a result.

        Args:
            query: any text.
            count: number of tools, 1 or more.
        """
        depth = 4 * count
        while True:
            found: dict[tuple[str, ...], ToolEntry] = {}
            hits = self._index.rank(query, depth, way="bm25")
            for hit in hits:
                entry = self.entries[hit.passage.id]
                found.setdefault(entry.signature, entry)
            if len(found) >= count or len(hits) < depth:
                return list(found.values())[:count]
            depth *= 4

    def call(self, name: str, arguments: Mapping[str, Any]) -> ToolReply:
        """Call the stub of a tool.

        Returns:
            Status "invalid" with the errors if the schema rejects the arguments; unknown arguments are errors. Else
            status "ok" with `stub_value`.

        Raises:
            KeyError: an unknown name.
        """
        return self._stub(name).run(ToolCall(name, arguments))

    def _make_stub(self, name: str) -> Tool:
        entry = self.entries[name]
        schema = tool_schema(entry.document, entry.notation.called if entry.notation else "")
        closed = replace(schema, parameters={**schema.parameters, "additionalProperties": False})
        return self._tool_from_schema(closed, lambda given, _: str(stub_value(entry.function, given)), timeout=None)


@functools.lru_cache(maxsize=1)
def read_schemas() -> tuple[ToolEntry, ...]:
    """Read the functions offered by single-turn questions of the package: 3,205 distinct schemas of 1,853 functions.

    The first schema has the function's name, with _ for dots; names of further schemas end in _2, _3 and so on.

    Raises:
        InputError: the package is missing.
    """
    entries: list[ToolEntry] = []
    known: set[str] = set()
    taken: set[str] = set()
    for category in SINGLE_TURN:
        for question in read_questions(category):
            for document in question["function"]:
                key = json.dumps([document["name"], document["parameters"]], sort_keys=True)
                if key not in known:
                    known.add(key)
                    name = _unique(document["name"].replace(".", "_"), taken)
                    entries.append(_entry(name, document, category))
    return tuple(entries)


@functools.lru_cache(maxsize=1)
def full_catalogue() -> Catalogue:
    """Return the catalogue of all schemas of the package."""
    return Catalogue(read_schemas())


def name_words(function: str) -> list[str]:
    """Split the name of a function into words in lower case.

    Example:
        name_words("math.calcArea_of2") is ["math", "calc", "area", "of", "2"].
    """
    return [word.lower() for word in WORD.findall(function)]


def stub_value(function: str, arguments: Mapping[str, Any]) -> int:
    """Derive the result of a call, of four digits, from a digest of the function and the arguments.

    Example:
        stub_value("math.gcd", {"a": 4, "b": 6}) equals stub_value("math.gcd", {"b": 6, "a": 4}).
    """
    return 1000 + derive_seed("toolbox value", function, json.dumps(arguments, sort_keys=True)) % 9000


def function_split(function: str) -> Split:
    """Return the split of a function by a digest of its name; about one in four is in test."""
    return content_split("toolbox split", function)


def _unique(name: str, taken: set[str]) -> str:
    number, made = 1, name
    while made in taken:
        number += 1
        made = f"{name[:60]}_{number}"
    taken.add(made)
    return made


def _entry(name: str, document: Mapping[str, Any], category: str) -> ToolEntry:
    properties = document["parameters"]["properties"]
    words = [*name_words(document["name"]), document["description"]]
    for parameter, described in properties.items():
        words += [*name_words(parameter), str(described.get("description", ""))]
    notation = NOTATIONS.get(category)
    schema = tool_schema({**document, "name": name}, notation.called if notation else "")
    shown = {"name": name, "description": schema.description, "parameters": schema.parameters}
    return ToolEntry(
        name,
        document["name"],
        {**document, "name": name},
        category,
        " ".join(words),
        json.dumps(shown, separators=(",", ":"), ensure_ascii=False),
    )
