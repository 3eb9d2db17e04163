from dataclasses import replace

import numpy as np
import pytest

from handaxe.core.records import Advantages, Branch, Group, RatedGroup, Scores
from handaxe.papers.rest_mcts.tree_pool import TreePool, search_trees, value_errors, value_targets, with_targets
from handaxe.rollouts.search.value_search import CHOSEN
from handaxe.selection.keep_successes import keep_successes
from handaxe.testing.make_records import make_trajectory


class Half:
    """A value model that says 0.5 of every turn, or another number for a rollout."""

    def __init__(self, **values):
        self.values = values

    def score_steps(self, group):
        return tuple(np.full(len(one.turns), self.values.get(one.id, 0.5)) for one in group)


def rated(outcomes, chosen=0):
    """a b c, and a x from its second turn on."""
    first = make_trajectory(layouts=["Up Tp Tp"], id="p", texts=["a", "b", "c"])
    other = make_trajectory(layouts=["Up Tp"], id="q", texts=["a", "x"])
    other = replace(other, branch_of=Branch("p", 0, 3))
    made = tuple(replace(one, notes={CHOSEN: i == chosen}) for i, one in enumerate((first, other)))
    group = Group(first.task, made)
    nothing = tuple(tuple(np.zeros(len(sequence)) for sequence in one.sequences) for one in group)
    return RatedGroup.of(group, Scores(np.array(outcomes)), Advantages(nothing))


def test_each_turn_has_one_target():
    one = rated([1.0, 0.0])
    first, second = value_targets(one.group, one.scores.outcome).turns
    assert first == pytest.approx([1 / 3, 2 / 3, 1])
    assert np.isnan(second[0]) and second[1] == pytest.approx(1 / 9)


def test_errors_are_of_targets_alone():
    one = rated([1.0, 0.0])
    error = value_errors(one.group, one.scores.outcome, Half())
    assert error == pytest.approx([0.5 - 1 / 3, 0.5 - 2 / 3, -0.5, 0.5 - 1 / 9])


def test_stage_reports_trees_and_fills_the_pool():
    pool = TreePool(Half())
    (row,) = search_trees(into=pool, source=lambda site: [rated([1.0, 0.0]), rated([0.0, 1.0]), rated([0.0, 0.0])])(
        None
    )
    assert (row["trees"], row["solved"], row["answered"]) == (3, 2 / 3, 1 / 3)
    # a b c correct: errors 1/6, 1/6, 1/2, 7/18; a x correct: targets 1/2, 1 and for b c 1/2 - (1/2)/2 = 1/4, 0
    squares = [1 / 36, 1 / 36, 1 / 4, 49 / 324, 0, 1 / 4, 1 / 16, 1 / 4]
    assert row["targets"] == 8 and row["value_error"] == pytest.approx(np.mean(squares), abs=1e-9)
    assert row["tokens"] == 4
    turns = pool.targets(None)[0].scores.turns
    assert turns[0][-1] == 1.0 and np.isnan(turns[1][0])


def test_correct_traces_with_the_highest_values_are_selected():
    pool = TreePool(Half(p=0.2, q=0.8))
    pool.groups = [rated([1.0, 1.0]), rated([1.0, 0.0])]
    first, second = pool.traces(None)
    assert first.scores.outcome == pytest.approx([0.2, 0.8]) and second.scores.outcome == pytest.approx([0.2, 0.0])
    chosen = keep_successes(above=0.0, most=1, best=True)([first, second])
    assert [one.trained.tolist() for one in chosen] == [[False, True], [True, False]]


def test_a_correct_trace_with_a_negative_value_remains_a_candidate():
    pool = TreePool(Half(p=-0.4))
    pool.groups = [rated([1.0, 0.0])]
    assert pool.traces(None)[0].scores.outcome[0] > 0


def test_an_empty_source_has_no_error():
    (row,) = search_trees(into=TreePool(Half()), source=lambda site: [])(None)
    assert row["trees"] == 0 and "value_error" not in row


def test_with_targets_labels_what_a_source_plays():
    (one,) = with_targets(lambda site: [rated([1.0, 0.0])])(None)
    assert one.scores.turns[1][1] == pytest.approx(1 / 9)
