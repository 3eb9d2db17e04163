"""Counts of transitions, and walks."""

import random
from collections import Counter

import pytest

from handaxe.core.errors import InputError
from handaxe.papers.astra.tool_graph import build_graph, walk

CHAINS = [["town", "mayor"], ["town", "port"], ["town", "mayor", "boss"], ["boss"]]


def test_weights_count_direct_successors():
    graph = build_graph(CHAINS)
    assert dict(graph.starts) == {"town": 3, "boss": 1}
    assert {name: dict(edges) for name, edges in graph.edges.items()} == {
        "town": {"mayor": 2, "port": 1},
        "mayor": {"boss": 1},
    }


def test_walks_follow_weights_and_end_at_a_tool_without_successor():
    graph, rng = build_graph(CHAINS), random.Random(0)
    walks = [tuple(walk(graph, rng, low=2, high=2)) for _ in range(4000)]
    counts = Counter(walks)
    assert set(counts) == {("town", "mayor"), ("town", "port"), ("boss",)}
    for chain, share in ((("town", "mayor"), 0.5), (("town", "port"), 0.25), (("boss",), 0.25)):
        assert abs(counts[chain] / 4000 - share) < 0.04
    lengths = Counter(len(walk(build_graph([["a", "a"]]), rng, low=1, high=3)) for _ in range(3000))
    assert set(lengths) == {1, 2, 3} and max(lengths.values()) < 1200


def test_bounds_and_empty_graphs():
    for graph, low, high in ((build_graph(CHAINS), 0, 2), (build_graph(CHAINS), 3, 2), (build_graph([]), 1, 2)):
        with pytest.raises(InputError, match="1 <= low <= high"):
            walk(graph, random.Random(0), low=low, high=high)
