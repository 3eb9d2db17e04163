from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from handaxe.core.records import Branch, Group, Scores
from handaxe.papers.rlm_blueprint.search_figures import advantage_gaps, right_answers, separation
from handaxe.papers.rlm_blueprint.search_values import search_advantages, search_targets
from handaxe.rollouts.search.mcts import SEARCH
from handaxe.rollouts.search.play_search import Played
from handaxe.rollouts.search.value_search import ROOT
from handaxe.testing.make_records import make_trajectory

LAYOUTS = ["Up Tp Tp", "Up Tp", "Up"]


def tree():
    """Question .12; a (q .5, 3 visits) with b .6 and c .4, and d (q -1, 1 visit). b's trajectory goes on by a roll."""
    q = {"a": 0.5, "b": 0.6, "c": 0.4, "d": -1.0}
    made = []
    for i, (layout, nodes) in enumerate(zip(LAYOUTS, ("ab", "ac", "d"))):
        branch = None if i == 0 else Branch("t/0", 0, 3 if i == 1 else 1)
        one = replace(make_trajectory(layouts=[layout], id=f"t/{i}"), branch_of=branch)
        notes = {SEARCH: [{"visits": 1, "value": q[node]} for node in nodes], ROOT: {"visits": 4, "value": 0.12}}
        made.append(replace(one, notes=notes))
    return Group(made[0].task, tuple(made))


def test_each_node_has_one_target_and_turns_of_a_roll_have_none():
    first, second, third = search_targets(tree())
    assert first[:2].tolist() == [0.5, 0.6] and np.isnan(first[2])
    assert np.isnan(second[0]) and second[1] == 0.4 and third.tolist() == [-1.0]


def test_advantages_by_hand():
    """.96 * .5 - .12 = .36; .96 * .6 - .5 = .076; .96 * .4 - .5 = -.116; -.96 - .12 = -1.08; 3 * .36 - 1.08 = 0."""
    first, second, third = search_advantages(tree())
    assert first[:2] == pytest.approx([0.36, 0.076], abs=1e-12) and np.isnan(first[2])
    assert second[1] == pytest.approx(-0.116, abs=1e-12) and third == pytest.approx([-1.08], abs=1e-12)
    assert 3 * first[0] + third[0] == pytest.approx(0.0, abs=1e-12)


def world(outcomes, verdicts=None):
    given = iter(outcomes)
    return SimpleNamespace(correct=lambda group: Scores(np.array(next(given))), need=lambda name: verdicts)


def test_gap_of_advantages_reads_verdicts():
    """Correct a .36 and b .076, incorrect c -.116 and d -1.08: .218 + .598 = .816."""
    verdicts = {"t/0": [1, 1, -1], "t/1": [1, -1], "t/2": [-1]}
    found = advantage_gaps(
        world([], lambda one: np.array(verdicts[one.id])), [Played(tree(), 0, 9), Played(tree(), None, 9)]
    )
    assert found == pytest.approx([0.816, 0.816], abs=1e-9)
    assert not len(advantage_gaps(world([], lambda one: np.ones(len(one.turns))), [Played(tree(), 0, 9)]))


def test_right_answers_are_of_the_answer_alone():
    plays = [Played(tree(), 1, 9), Played(tree(), 0, 9), Played(tree(), None, 9)]
    assert right_answers(world([[0.0, 1.0, 0.0]] * 2), plays).tolist() == [1.0, 0.0, 0.0]


def test_separation_by_hand():
    """Values .8, .3 of correct rollouts and .3 of an incorrect one: (1 + .5) / 2."""
    value = SimpleNamespace(score_steps=lambda group: tuple(np.array([v]) for v in (0.8, 0.3, 0.3)))
    plays = [Played(tree(), 0, 9), Played(tree(), 0, 9)]
    assert separation(world([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0]]), value, plays, 2).tolist() == [0.75, 0.5]
