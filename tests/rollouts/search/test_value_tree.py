from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.rollouts.search.node import Node
from handaxe.rollouts.search.value_tree import ValueTree
from handaxe.rollouts.search.visit_mean import visit_mean


def node(value, *children, dead=False):
    made = Node(SimpleNamespace(), value=value, dead=dead)
    made.children = list(children)
    return made


def tree(root):
    return ValueTree(None, root, None, lambda value, parent, own: value, visit_mean(), 2, 0, False, None)


def test_best_leaf_and_greedy_path():
    """The question has .6 and .7; .7 has .1 and .2; the best leaf is .6, and the greedy path ends at .2."""
    first, second = node(0.1), node(0.2)
    root = node(0.0, node(0.6), node(0.7, first, second))
    assert tree(root).best("best") is root.children[0] and tree(root).best("path") is second


def test_dead_nodes_answer_nothing():
    root = node(0.0, node(0.9, dead=True), node(0.3))
    assert tree(root).best("best") is root.children[1] and tree(root).best("path") is root.children[1]
    alone = node(0.0, node(0.9, dead=True))
    assert tree(alone).best("best") is None and tree(alone).best("path") is None


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=6))
def test_the_best_leaf_has_the_greatest_value(values):
    root = node(0.0, *[node(value) for value in values])
    assert tree(root).best("best").value == pytest.approx(max(values))
    assert tree(root).best("path") is tree(root).best("best")
