"""Frozen retriever over the tools of the simulators of bfcl-eval, and ranks of needed tools."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from handaxe.core.errors import InputError
from handaxe.ops.cache_path import cache_path, content_digest
from handaxe.tools.index.build_index import build_index
from handaxe.tools.index.search_index import Index, open_index
from handaxe.worlds.bfcl.package import DOCUMENTS, read_descriptions
from handaxe.worlds.toolbox.catalogue import name_words

__all__ = ["ToolIndex", "rank_score", "tool_index"]

PREAMBLE = "Tool description:"
"""The text before it is equal for all tools of a simulator."""
LONGEST = 20_000
"""Character limit of an indexed passage, above the length of every tool."""


class ToolIndex(NamedTuple):
    """Tools and the index of their texts.

    groups: tool -> its simulator. words: tool -> the words of its name. numbers: tool -> three digits, the first of the
    simulator and two within the simulator.
    """

    groups: Mapping[str, str]
    words: Mapping[str, str]
    numbers: Mapping[str, str]
    searched: Index

    def rank(self, query: str) -> tuple[str, ...]:
        """Rank the tools by BM25; tools without a word of the query are left out."""
        return tuple(hit.passage.id for hit in self.searched.rank(query, len(self.groups), way="bm25"))

    def places(self, query: str, needed: Sequence[str]) -> list[int]:
        """Places of the needed tools, from 1; the number of all tools for a tool that is left out."""
        place_of = {name: place for place, name in enumerate(self.rank(query), 1)}
        return [place_of.get(name, len(self.groups)) for name in needed]

    def named(self, numbers: Sequence[str]) -> str:
        """Words of the tools with these numbers; unknown numbers have none."""
        tool_of = {number: name for name, number in self.numbers.items()}
        return ", ".join(self.words[tool_of[number]] for number in numbers if number in tool_of)

    def spell(self, names: Sequence[str], brief: bool) -> str:
        """Tools as numbers, with `brief`, or as words."""
        return " ".join(self.numbers[one] for one in names) if brief else ", ".join(self.words[one] for one in names)

    def mates(self, tool: str) -> list[str]:
        """Tools of the same simulator, in the package's order."""
        return [name for name, group in self.groups.items() if group == self.groups[tool]]


@functools.lru_cache(maxsize=1)
def tool_index() -> ToolIndex:
    """Index names, descriptions and parameters of the 128 tools of the package; cached on disk (HANDAXE_CACHE).

    Raises:
        InputError: a missing package (bfcl-eval; extra [search]).
    """
    found = {one["name"]: (simulator, one) for simulator in DOCUMENTS for one in read_descriptions(simulator)}
    documents = [{"id": name, "text": _text(one)} for name, (_, one) in found.items()]
    folder = cache_path("tool_queries", content_digest([json.dumps(documents)]))
    index = open_index(build_index(documents, folder, dense=False, passage_chars=LONGEST))
    groups = {name: simulator for name, (simulator, _) in found.items()}
    numbers = {
        one["name"]: f"{first}{place:02}"
        for first, simulator in enumerate(DOCUMENTS, 1)
        for place, one in enumerate(read_descriptions(simulator))
    }
    return ToolIndex(groups, {name: " ".join(name_words(name)) for name in found}, numbers, index)


def rank_score(places: Sequence[int], tools: int) -> float:
    """Score a rewritten query by the places of the needed tools: the worst place counts, ties by the mean.

        s = -(max_g r_g + mean_g r_g / (T + 1))

    Args:
        places: r_g >= 1, the place of each needed tool.
        tools: T, the number of all tools; the mean is at most T, so that it never outweighs a place.

    Returns:
        A negative number; higher is better.

    Raises:
        InputError: no place, or a place outside 1 to T.

    Example:
        places 1, 3 of 9 tools  ->  -(3 + 2 / 10) = -3.2;  places 3, 3  ->  -3.3;  places 1, 4  ->  -4.25

    Paper: arXiv:2410.03212 (QTA), ranking function.
    Differs: nothing known.
    Unconfirmed: the function; the released repository has data alone.
    """
    if not places or not all(1 <= place <= tools for place in places):
        raise InputError(f"rank_score takes 1 place or more, each from 1 to {tools}, not {list(places)}")
    return -(max(places) + sum(places) / len(places) / (tools + 1))


def _text(document: Mapping[str, Any]) -> str:
    parts = [*name_words(document["name"]), document["description"].rpartition(PREAMBLE)[2].strip()]
    for parameter, described in document["parameters"]["properties"].items():
        parts += [*name_words(parameter), str(described.get("description", ""))]
    return " ".join(parts)
