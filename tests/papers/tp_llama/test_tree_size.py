from dataclasses import replace

import pytest
from helpers.tree_play import WORDS, play_tree

from handaxe.core.errors import InputError
from handaxe.papers.tp_llama.decision_tree import TREE
from handaxe.papers.tp_llama.tree_size import measure_trees, tree_size
from handaxe.training.sft.supervised import as_rated


def sized(nodes, success):
    one = play_tree(WORDS)[0]
    return as_rated([replace(one, notes={TREE: {"nodes": nodes, "success": success}})])


def test_measure_trees_matches_its_example():
    found = measure_trees([sized(3, True), sized(8, True), sized(24, False)])
    assert found == pytest.approx({"trees": 3, "solved": 2 / 3, "nodes": 35 / 3, "nodes_per_solved": 17.5}, abs=1e-6)


def test_trees_without_a_success_count_as_one():
    assert measure_trees([sized(6, False), sized(4, False)])["nodes_per_solved"] == 10


def test_tree_size_is_one_row_of_a_source():
    rows = tree_size(source=lambda site: [as_rated(play_tree(WORDS))])(None)
    assert rows == [{"step": 0.0, "trees": 1.0, "solved": 1.0, "nodes": 4.0, "nodes_per_solved": 4.0}]


def test_other_rollouts_have_no_size():
    with pytest.raises(InputError, match="trees of decision_tree"):
        measure_trees([])
    with pytest.raises(InputError, match="trees of decision_tree"):
        measure_trees([as_rated([replace(play_tree(WORDS)[0], notes={})])])
