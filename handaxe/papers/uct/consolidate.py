"""Consolidation of a library between tasks: merge equal tools, and drop failing ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from handaxe.tools.library import LibraryTool, ToolLibrary

__all__ = ["consolidate", "is_dropped"]

FAILURE_RATE = 0.5
LEAST_USES = 2
"""Uses of a tool before its failure rate counts."""


def consolidate(library: ToolLibrary, probes: Sequence[Mapping[str, Any]]) -> list[str]:
    """Drop tools that fail often, and all but one of the tools with equal values at every probe.

        dropped   uses >= 2 and failures / uses > 0.5
        merged    equal results at all probes; the tool with the most uses stays, the older of two

    Args:
        library: changed in place.
        probes: arguments, such as the queries of the last tasks; tools without a value for any probe are not merged.

    Returns:
        Names of the removed tools.

    Example:
        uses 9, failures 1: rate 0.1, kept; uses 3, failures 2: rate 0.67, dropped

    Paper: arXiv:2602.01983 (UCT), offline consolidation of created tools.
    Differs: no promotion of general tools.
    Unconfirmed: both thresholds, and equality of behaviour as the rule of a merge.
    """
    gone = [one.name for one in library.entries.values() if is_dropped(one)]
    library.drop(gone)
    seen = set[str]()
    for entry in sorted(library.entries.values(), key=lambda one: (-one.uses, one.since)):
        results = library.call_many(entry.name, probes)
        key = repr(results)
        if any(not one.error for one in results) and key in seen:
            gone.append(entry.name)
        seen.add(key)
    library.drop(gone)
    return gone


def is_dropped(one: LibraryTool) -> bool:
    """Return True for a tool that fails too often."""
    return one.uses >= LEAST_USES and one.failures / one.uses > FAILURE_RATE
