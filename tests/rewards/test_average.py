import pytest

from handaxe.rewards.average import average
from handaxe.testing.records import make_group, make_scores, make_trajectory

PAIR = make_group(trajectories=[make_trajectory(texts=["a", "b", "c"]), make_trajectory(layouts=["UUt"])])


def test_example():
    scores = average(lambda group: make_scores([1, 0], turns=[[1, 0, 1], []]))(PAIR)
    assert scores.outcome.tolist() == pytest.approx([1 + 2 / 3, 0])
    assert scores.turns is None and [turn.tolist() for turn in scores.turn_channels["turns"]] == [[1, 0, 1], []]


def test_without_turns_it_changes_nothing():
    scores = average(lambda group: make_scores([1, 0], channels={"c": [2, 3]}))(PAIR)
    assert scores.outcome.tolist() == [1, 0] and scores.channels["c"].tolist() == [2, 3]
