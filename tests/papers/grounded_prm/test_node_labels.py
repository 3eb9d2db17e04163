from dataclasses import replace

from handaxe.papers.grounded_prm.node_labels import node_labels
from handaxe.rollouts.search.mcts import SEARCH
from handaxe.testing.make_records import make_trajectory


def path(values, verdicts, *, visits=None, seeds=None, id="0"):
    one = make_trajectory(id=id, texts=["x"] * len(values))
    seeds = seeds or [hash((id, k)) for k in range(len(values))]
    turns = tuple(replace(turn, seed=seed) for turn, seed in zip(one.turns, seeds))
    nodes = [
        {"visits": n, "value": value, "verdict": verdict}
        for value, verdict, n in zip(values, verdicts, visits or [1] * len(values))
    ]
    return replace(one, turns=turns, notes={SEARCH: nodes})


def labels(*paths, agree=True):
    return [(one.trajectory.id, one.turn, one.right) for one in node_labels(paths, agree=agree)]


def test_node_labels_matches_its_example():
    values = (0.75, -0.5, 0.2)
    assert labels(path(values, (1, -1, 1))) == [("0", 0, True), ("0", 1, False)]
    assert labels(path(values, (1, 1, 1))) == []
    assert labels(path(values, (1, 1, 1)), agree=False) == [("0", 0, True), ("0", 1, False)]


def test_incorrect_nodes_after_an_incorrect_one_stay_in_the_path():
    assert labels(path((-1, -2, -1), (-1, -1, -1))) == [("0", k, False) for k in range(3)]
    assert labels(path((-1, 0.0, -1), (-1, 1, -1))) == [("0", 0, False)]


def test_unvisited_nodes_end_a_path_and_shared_nodes_are_labelled_once():
    first = path((1, -1), (1, -1), seeds=[1, 2], id="a")
    second = path((1, 1, 0.0), (1, 1, None), visits=[2, 1, 0], seeds=[1, 3, 4], id="b")
    assert labels(first, second) == [("a", 0, True), ("a", 1, False), ("b", 1, True)]


def test_a_path_without_verdicts_or_values_has_no_labels():
    assert labels(path((1,), (None,))) == [] and labels(path((1,), (None,)), agree=False) == [("0", 0, True)]
    assert labels(path((0.0, 1), (1, 1)), agree=False) == [("0", 1, True)]
    assert labels(make_trajectory(texts=["x"])) == []
