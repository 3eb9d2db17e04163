import math

import pytest

from handaxe.core.errors import InputError
from handaxe.papers.hai_chart.chart_query import CLAUSES, complete_queries
from handaxe.papers.hai_chart.chart_tables import make_table
from handaxe.papers.hai_chart.graph_search import GraphSearch, operation_node, prefix_node, random_search, ucb

TABLE = make_table(
    "pets",
    {"pet": ["a", "b"], "age": [1, 2], "size": [2, 3], "cost": [5, 1]},
    {"pet": "categorical", "age": "numerical", "size": "numerical", "cost": "numerical"},
)


def likes_cost(query):
    """Reward of the operations y = cost and bin = auto, whatever the clauses before."""
    return 0.5 * (query[3] == "cost") + 0.5 * (query[4] == "auto")


def test_ucb_by_hand():
    assert ucb(3, 4, 16, 1.414) == pytest.approx(0.75 + 1.414 * math.sqrt(math.log(16) / 4), abs=1e-9)
    assert ucb(3, 4, 16, 1.414) == pytest.approx(1.927, abs=1e-3)
    assert ucb(0, 0, 16, 1) == math.inf


def test_nodes_of_the_graph_are_shared_and_those_of_the_tree_are_not():
    assert operation_node(("bar", "pet")) == operation_node(("arc", "pet")) != operation_node(("pet",))
    assert prefix_node(("bar", "pet")) != prefix_node(("arc", "pet"))
    graph = GraphSearch(TABLE)
    tree = GraphSearch(TABLE, key=prefix_node)
    for search in (graph, tree):
        search.run(likes_cost, evaluations=150)
    assert graph.node_count < tree.node_count
    assert graph.node_count <= 1 + 4 + 4 + 4 + 4 + 2 + 3


def test_statistics_are_sums_over_the_simulations_through_an_edge():
    search = GraphSearch(TABLE, seed=3)
    found = search.run(likes_cost, evaluations=80)
    root = search._nodes[operation_node(())]
    assert root.visits == 80 == sum(edge.visits for edge in root.edges.values())
    for mark, edge in root.edges.items():
        own = [reward for query, reward in found if query[0] == mark]
        assert edge.visits == len(own) and edge.value == pytest.approx(sum(own), abs=1e-9)


def test_the_graph_spends_more_simulations_on_good_operations_than_the_tree():
    shares = {}
    for key in (operation_node, prefix_node):
        runs = [GraphSearch(TABLE, key=key, c=0.3, seed=seed).run(likes_cost, evaluations=100) for seed in range(6)]
        shares[key] = sum(reward for run in runs for _, reward in run)
    drawn = sum(
        reward for seed in range(6) for _, reward in random_search(TABLE, likes_cost, evaluations=100, seed=seed)
    )
    assert shares[operation_node] > shares[prefix_node] > drawn


def test_constraints_hold_for_every_chart():
    search = GraphSearch(TABLE)
    found = search.run(likes_cost, evaluations=40, constraints={"mark": "bar", "y": "age"})
    assert found and all(query[0] == "bar" and query[3] == "age" for query, _ in found)
    assert GraphSearch(TABLE).run(likes_cost, evaluations=5, constraints={"mark": "arc", "x": "age"}) == []


def test_a_search_is_a_function_of_its_seed_and_yields_complete_queries():
    runs = [GraphSearch(TABLE, seed=seed, random_rate=0.8).run(likes_cost, evaluations=30) for seed in (0, 0, 1)]
    assert runs[0] == runs[1] != runs[2]
    assert {query for query, _ in runs[0]} <= set(complete_queries(TABLE))
    assert all(len(query) == len(CLAUSES) for query, _ in random_search(TABLE, likes_cost, evaluations=30))


def test_a_dead_end_counts_as_an_evaluation_without_reward():
    numbers = make_table("numbers", {"age": [1, 2], "size": [2, 4]}, {"age": "numerical", "size": "numerical"})
    search = GraphSearch(numbers)
    assert len(search.run(lambda query: 1.0, evaluations=30)) < 30
    arc = search._nodes[operation_node(())].edges["arc"]
    assert arc.visits >= 1 and arc.value == 0


@pytest.mark.parametrize("option", [{"c": -1}, {"random_rate": -0.1}])
def test_negative_constants_are_an_input_error(option):
    with pytest.raises(InputError, match="at least 0"):
        GraphSearch(TABLE, **option)
