from types import SimpleNamespace

import numpy as np
import pytest

from handaxe.core.records import Scores
from handaxe.papers.rlm_blueprint.search_figures import advantage_gaps, right_answers, separation
from handaxe.rollouts.search.play_search import Played


def world(outcomes, verdicts=None):
    given = iter(outcomes)
    return SimpleNamespace(correct=lambda group: Scores(np.array(next(given))), need=lambda name: verdicts)


def test_gap_of_advantages_reads_verdicts(tree):
    """Correct a .36 and b .076, incorrect c -.116 and d -1.08: .218 + .598 = .816."""
    verdicts = {"t/0": [1, 1, -1], "t/1": [1, -1], "t/2": [-1]}
    found = advantage_gaps(
        world([], lambda one: np.array(verdicts[one.id])), [Played(tree(), 0, 9), Played(tree(), None, 9)]
    )
    assert found == pytest.approx([0.816, 0.816], abs=1e-9)
    assert not len(advantage_gaps(world([], lambda one: np.ones(len(one.turns))), [Played(tree(), 0, 9)]))


def test_right_answers_are_of_the_answer_alone(tree):
    plays = [Played(tree(), 1, 9), Played(tree(), 0, 9), Played(tree(), None, 9)]
    assert right_answers(world([[0.0, 1.0, 0.0]] * 2), plays).tolist() == [1.0, 0.0, 0.0]


def test_separation_by_hand(tree):
    """Values .8, .3 of correct rollouts and .3 of an incorrect one: (1 + .5) / 2."""
    value = SimpleNamespace(score_steps=lambda group: tuple(np.array([v]) for v in (0.8, 0.3, 0.3)))
    plays = [Played(tree(), 0, 9), Played(tree(), 0, 9)]
    assert separation(world([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0]]), value, plays, 2).tolist() == [0.75, 0.5]
