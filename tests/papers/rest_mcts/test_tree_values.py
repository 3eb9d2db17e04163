from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handaxe.core.records import STOPPED, Branch, Ending, Group
from handaxe.ops.turn_tree import turn_tree
from handaxe.papers.rest_mcts.tree_values import tree_values
from handaxe.testing.make_records import make_trajectory

TURNS = {1: "Up", 2: "Up Tp", 3: "Up Tp Tp", 4: "Up Tp Tp Tp"}
"""Turns at the tokens 1, 3, 5 and 7."""


def tree(*members):
    """Trajectories by (number of turns, parent and number of shared turns, ending)."""
    made = []
    for i, (turns, parent, ending) in enumerate(members):
        branch = None if parent is None else Branch(f"t/{parent[0]}", 0, 1 + 2 * parent[1])
        one = make_trajectory(layouts=[TURNS[turns]], id=f"t/{i}")
        made.append(replace(one, branch_of=branch, ending=ending))
    return Group(made[0].task, tuple(made))


DONE = Ending("completed")


def test_a_wrong_branch_by_hand():
    """a b c is correct: 1/3, 2/3, 1. a x is wrong, with the three steps of a: 1/3 - (2/3)/3 = 1/9."""
    found = tree_values(tree((3, None, DONE), (2, (0, 1), DONE)), np.array([1.0, 0.0]))
    assert found[0] == pytest.approx([1 / 3, 2 / 3, 1], abs=1e-12)
    assert found[1] == pytest.approx([1 / 3, 1 / 9], abs=1e-12)


def test_the_shorter_correct_branch_counts():
    """a b: steps 2, 1; a c d: c has 2, and a has min(1, 2) + 1 = 2: 1/2, then 1 and 1/2 + (1/2)/2 = 3/4, 1."""
    found = tree_values(tree((2, None, DONE), (3, (0, 1), DONE)), np.array([1.0, 1.0]))
    assert found[0] == pytest.approx([0.5, 1.0]) and found[1] == pytest.approx([0.5, 0.75, 1.0])


def test_independent_rollouts_share_the_question_alone():
    """The question has 1 + 2 steps, so a wrong first step has max(0 - 1/3, 0)."""
    found = tree_values(tree((2, None, DONE), (2, None, DONE)), np.array([1.0, 0.0]))
    assert found[0] == pytest.approx([0.5, 1.0]) and found[1].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("ending", [STOPPED, Ending("infra_error")])
def test_unfinished_branches_have_no_label(ending):
    found = tree_values(tree((2, None, DONE), (3, (0, 1), ending)), np.array([1.0, 0.0]))
    assert found[1][0] == 0.5 and np.isnan(found[1][1:]).all()


def test_a_tree_without_a_correct_end_has_no_label():
    found = tree_values(tree((2, None, DONE), (2, (0, 1), DONE)), np.array([0.0, np.nan]))
    assert all(np.isnan(own).all() for own in found)


def twin(group, outcomes):
    """Slow loop over paths, with a dictionary of nodes."""
    nodes = turn_tree(group)
    paths = [[int(node) for node in own] for own in nodes.nodes]
    right = [path for path, outcome in zip(paths, outcomes) if outcome > 0.5]
    if not right:
        return None
    steps = {}
    for path in right:
        for k, node in enumerate(path):
            steps[node] = min(steps.get(node, 99), len(path) - k)
    root = min(len(path) for path in right) + 1
    correct = set(steps)
    for path, outcome in zip(paths, outcomes):
        if outcome <= 0.5:
            near = [node for node in path if node in correct]
            for node in path:
                steps.setdefault(node, steps[near[-1]] if near else root)
    values = {}
    for path in paths:
        before = 0.0
        for node in path:
            sign = 1 if node in correct else -1
            before = values[node] = max(0.0, before + sign * (1 - before) / steps[node])
    return [[values[node] for node in path] for path in paths]


@settings(max_examples=40)
@given(st.data())
def test_values_equal_a_slow_loop(data):
    members = [(data.draw(st.integers(1, 4)), None, DONE)]
    for i in range(data.draw(st.integers(0, 5))):
        parent = data.draw(st.integers(0, i))
        shared = data.draw(st.integers(0, min(3, members[parent][0] - 1)))
        members.append((data.draw(st.integers(shared + 1, 4)), (parent, shared), DONE))
    outcomes = np.array(data.draw(st.lists(st.sampled_from([0.0, 1.0]), min_size=len(members), max_size=len(members))))
    group = tree(*members)
    expected, found = twin(group, outcomes), tree_values(group, outcomes)
    if expected is None:
        assert all(np.isnan(own).all() for own in found)
    else:
        for mine, theirs in zip(found, expected, strict=True):
            assert mine == pytest.approx(theirs, abs=1e-9)
            assert (mine >= 0).all() and (mine <= 1 + 1e-12).all()
