"""Monte-Carlo graph search over queries: queries that end in the same operation share a node."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

from handaxe.core.errors import InputError
from handaxe.papers.hai_chart.chart_query import CLAUSES, FREE, Constraints, Query, next_values
from handaxe.papers.hai_chart.chart_tables import ChartTable

__all__ = ["Edge", "GraphSearch", "OperationNode", "operation_node", "prefix_node", "random_search", "ucb"]

NodeKey = Callable[[Query], Hashable]
Score = Callable[[Query], float]


def operation_node(query: Query) -> Hashable:
    """Node of the graph: the last operation, clause and value."""
    return len(query), query[-1] if query else ""


def prefix_node(query: Query) -> Hashable:
    """Node of the tree: all clauses so far."""
    return query


def ucb(value: float, visits: int, parent_visits: int, c: float) -> float:
    """Compute the upper confidence bound of an edge; infinite without a visit.

        UCB = value / visits + c sqrt(log(parent_visits) / visits)

    Example:
        value 3, visits 4, parent_visits 16, c 1.414: 0.75 + 1.414 * sqrt(2.7726 / 4) = 1.927

    Paper: arXiv:2406.11033 (HAIChart), selection.
    Unconfirmed: c of the paper; its released code has c = 1.5 sqrt(2).
    """
    if not visits:
        return math.inf
    return value / visits + c * math.sqrt(math.log(max(parent_visits, 1)) / visits)


@dataclass
class Edge:
    """Sum of the rewards of the simulations over an edge, and their number."""

    value: float = 0.0
    visits: int = 0


@dataclass
class OperationNode:
    """Visits of a node, and its edges by the value of the next clause."""

    visits: int = 0
    edges: dict[str, Edge] = field(default_factory=dict)


class GraphSearch:
    """Search with a graph that later searches continue.

    A simulation selects edges by UCB among the allowed values while all of them were tried, tries one value at random,
    completes the query at random, and adds the reward of the chart to all edges of the selected path. A dead end has
    the reward 0. With `operation_node`, queries with equal last operations share the node and its statistics.

    Args:
        table: of the charts.
        key: query -> node; `operation_node` for the graph, `prefix_node` for a tree.
        c: weight of exploration in UCB, at least 0.
        random_rate: alpha; before the selection of a value with u of the 7 clauses open, a random value is taken with
            probability exp(-alpha (1 - u / 7)). None: never. The released code has 0.8.
        seed: of the random values.

    Raises:
        InputError: c or random_rate below 0.

    Example:
        GraphSearch(table, seed=0).run(reward.score, evaluations=100)  ->  rewards by query

    Paper: arXiv:2406.11033 (HAIChart), Monte-Carlo graph search; nodes as in the released code.
    Unconfirmed: random_rate in the paper.
    Differs: a dead end counts as an evaluation.
    """

    def __init__(
        self,
        table: ChartTable,
        *,
        key: NodeKey = operation_node,
        c: float = math.sqrt(2),
        random_rate: float | None = None,
        seed: int = 0,
    ):
        if c < 0 or (random_rate or 0) < 0:
            raise InputError(f"GraphSearch: c is {c} and random_rate {random_rate}; give numbers of at least 0")
        self._table = table
        self._key = key
        self._c = c
        self._random_rate = random_rate
        self._rng = random.Random(seed)
        self._nodes: dict[Hashable, OperationNode] = {}

    @property
    def node_count(self) -> int:
        return len(self._nodes)

    def run(self, score: Score, *, evaluations: int, constraints: Constraints = FREE) -> list[tuple[Query, float]]:
        """Run simulations, and return the chart and the reward of each; a dead end is left out.

        Args:
            score: reward of a complete query, in [0, 1].
            evaluations: number of simulations.
            constraints: values that the user fixed.
        """
        found = []
        for _ in range(evaluations):
            query, path = self._select(constraints)
            query = _completed(self._table, query, constraints, self._rng)
            reward = score(query) if len(query) == len(CLAUSES) else 0.0
            for node, edge in path:
                node.visits += 1
                edge.visits += 1
                edge.value += reward
            if len(query) == len(CLAUSES):
                found.append((query, reward))
        return found

    def _select(self, constraints: Constraints) -> tuple[Query, list[tuple[OperationNode, Edge]]]:
        query: Query = ()
        path: list[tuple[OperationNode, Edge]] = []
        while values := next_values(self._table, query, constraints):
            node = self._nodes.setdefault(self._key(query), OperationNode())
            untried = [one for one in values if one not in node.edges]
            value = self._rng.choice(untried) if untried else self._best(node, values, len(CLAUSES) - len(query))
            query = (*query, value)
            path.append((node, node.edges.setdefault(value, Edge())))
            if untried:
                break
        return query, path

    def _best(self, node: OperationNode, values: list[str], still_open: int) -> str:
        if self._random_rate is not None:
            chance = math.exp(-self._random_rate * (1 - still_open / len(CLAUSES)))
            if self._rng.random() < chance:
                return self._rng.choice(values)
        edges = [(one, node.edges[one]) for one in values]
        return max(edges, key=lambda one: ucb(one[1].value, one[1].visits, node.visits, self._c))[0]


def random_search(
    table: ChartTable, score: Score, *, evaluations: int, seed: int = 0, constraints: Constraints = FREE
) -> list[tuple[Query, float]]:
    """Complete queries at random, clause by clause; the baseline of a search."""
    rng = random.Random(seed)
    drawn = [_completed(table, (), constraints, rng) for _ in range(evaluations)]
    return [(one, score(one)) for one in drawn if len(one) == len(CLAUSES)]


def _completed(table: ChartTable, query: Query, constraints: Constraints, rng: random.Random) -> Query:
    while values := next_values(table, query, constraints):
        query = (*query, rng.choice(values))
    return query
