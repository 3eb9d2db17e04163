"""Graph of tools, from chains that were written for tasks, and new chains by weighted walks."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from handaxe.core.errors import InputError

__all__ = ["ToolGraph", "build_graph", "walk"]


class ToolGraph(NamedTuple):
    """Transitions of chains.

    starts   tool -> number of chains that begin with it
    edges    tool -> successor -> number of times that it follows directly
    """

    starts: Mapping[str, int]
    edges: Mapping[str, Mapping[str, int]]


def build_graph(chains: Sequence[Sequence[str]]) -> ToolGraph:
    """Count the transitions of chains.

        w(f_i -> f_j) = number of times that f_j directly follows f_i

    Args:
        chains: of the tools of one server.

    Example:
        [town, mayor], [town, port], [town, mayor, boss] -> starts town 3; w(town -> mayor) = 2, w(mayor -> boss) = 1

    Paper: arXiv:2601.21558 (ASTRA), the tool graph, as in its released code (1_graph_build).
    Differs: nothing.
    """
    edges = dict[str, Counter[str]]()
    for chain in chains:
        for left, right in itertools.pairwise(chain):
            edges.setdefault(left, Counter())[right] += 1
    return ToolGraph(Counter(chain[0] for chain in chains if chain), edges)


def walk(graph: ToolGraph, rng: random.Random, *, low: int = 2, high: int = 4) -> list[str]:
    """Walk from a start, each step with a probability proportional to its weight, up to a length that is drawn evenly.

        P(f_1) ~ starts(f_1)     P(f_j | f_i) = w(f_i -> f_j) / sum_k w(f_i -> f_k)

    Args:
        graph: result of `build_graph`.
        rng: of the walk.
        low, high: bounds of the length, 1 <= low <= high; 3 to 5 in released scripts of the paper.

    Returns:
        A chain; shorter than drawn if a tool has no successor.

    Raises:
        InputError: bounds out of range, or an empty graph.

    Example:
        w(town -> mayor) = 2, w(town -> port) = 1: a walk of two tools from town is [town, mayor] two times of three

    Paper: arXiv:2601.21558 (ASTRA), length-bounded walks.
    Differs: nothing.
    """
    if not 1 <= low <= high or not graph.starts:
        raise InputError(f"a walk has 1 <= low <= high tools and a start, not {low} to {high} and {len(graph.starts)}")
    length = rng.randint(low, high)
    chain = rng.choices(list(graph.starts), list(graph.starts.values()))
    while len(chain) < length and (following := graph.edges.get(chain[-1])):
        chain += rng.choices(list(following), list(following.values()))
    return chain
