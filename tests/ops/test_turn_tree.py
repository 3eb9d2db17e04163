from dataclasses import replace

import numpy as np

from handaxe.core.records import Branch, Group
from handaxe.core.usage import Usage
from handaxe.ops.turn_tree import shared_turn_count, token_owners, total_usage, turn_tree
from handaxe.testing.make_records import make_trajectory


def forked(*members):
    """Trajectories by (id, layouts, branch_of)."""
    made = [replace(make_trajectory(layouts=layouts), id=id, branch_of=at) for id, layouts, at in members]
    return Group(made[0].task, tuple(made))


THREE = "Up Tp Tp"  # turns at 1, 3 and 5


def test_token_owners_equal_the_example():
    group = forked(("t/0", ["Uppppp"], None), ("t/1", ["Uppppp"], Branch("t/0", 0, 4)))
    (first,), (second,) = token_owners(group)
    assert (first.tolist(), second.tolist()) == ([0] * 6, [0, 0, 0, 0, 1, 1])


def test_turn_tree_equals_the_example():
    group = forked(("t/0", [THREE], None), ("t/1", ["Up Tp"], Branch("t/0", 0, 3)))
    found = turn_tree(group)
    assert [own.tolist() for own in found.nodes] == [[0, 1, 2], [0, 3]]
    assert found.parents.tolist() == [-1, 0, 1, 0] and found.members == [[0, 1], [0], [0], [1]]
    assert found.children(-1).tolist() == [0] and found.children(0).tolist() == [1, 3]
    assert [shared_turn_count(one) for one in group] == [0, 1]


def test_fork_of_a_fork_shares_the_prefix_of_its_grandparent():
    group = forked(
        ("c", [THREE], Branch("b", 0, 5)),
        ("b", [THREE], Branch("a", 0, 3)),
        ("a", [THREE], None),  # in no order
    )
    assert [o[0].tolist() for o in token_owners(group)] == [[2, 2, 2, 1, 1, 0], [2, 2, 2, 1, 1, 1], [2] * 6]
    found = turn_tree(group)
    assert found.members == [[0, 1, 2], [0, 1], [0], [1], [2], [2]]
    early = forked(("a", [THREE], None), ("b", [THREE], Branch("a", 0, 5)), ("c", [THREE], Branch("b", 0, 3)))
    assert turn_tree(early).members == [[0, 1, 2], [0, 1], [0], [1], [2], [2]]


def test_partly_shared_turn_is_a_new_node_and_whole_turn_is_shared():
    inside = forked(("a", ["Uppp Tp"], None), ("b", ["Uppp Tp"], Branch("a", 0, 2)))
    assert turn_tree(inside).members == [[0], [0], [1], [1]] and token_owners(inside)[1][0].tolist() == [
        0,
        0,
        1,
        1,
        1,
        1,
    ]
    at_end = forked(("a", ["Uppp Tp"], None), ("b", ["Uppp Tp"], Branch("a", 0, 4)))
    assert turn_tree(at_end).members == [[0, 1], [0], [1]] and shared_turn_count(at_end[1]) == 0


def test_forks_of_an_absent_trajectory_share_with_each_other():
    group = forked(("b", [THREE], Branch("gone", 0, 3)), ("c", [THREE], Branch("gone", 0, 5)), ("d", [THREE], None))
    assert turn_tree(group).members == [[0, 1], [0], [0], [1], [1], [2], [2], [2]]


def test_sequences_before_the_branch_are_shared():
    layouts = ["Up Tp", "UUT p Tp"]
    group = forked(("a", layouts, None), ("b", layouts, Branch("a", 1, 5)), ("c", layouts, Branch("a", 0, 3)))
    assert [[own.tolist() for own in one] for one in token_owners(group)] == [
        [[0] * 4, [0] * 6],
        [[0] * 4, [0] * 5 + [1]],
        [[0] * 3 + [2], [2] * 6],
    ]
    assert [shared_turn_count(one) for one in group] == [0, 3, 1]


def test_group_without_forks_shares_nothing():
    group = forked(("a", [THREE], None), ("b", ["U"], None))
    found = turn_tree(group)
    assert found.members == [[0], [0], [0]] and found.nodes[1].shape == (0,) and found.parents.tolist() == [-1, 0, 1]
    empty = turn_tree(Group(group.task, ()))
    assert empty.nodes == [] and empty.parents.dtype == np.int64 and token_owners(Group(group.task, ())) == []


def test_total_usage_counts_shared_tokens_once():
    group = forked(("t/0", ["Upppppp"], None), ("t/1", ["Uppppp"], Branch("t/0", 0, 3)))
    assert total_usage(group).tokens == 6 + 5 - 2
    alone = forked(("t/1", ["Uppppp"], Branch("elsewhere", 0, 3)))
    assert total_usage(alone).tokens == 5
    spent = replace(group[1], total_usage=Usage(tokens=9, calls=2, seconds=1.5, cost=3.0))
    both = total_usage(Group(group.task, (group[0], spent)))
    assert both == Usage(6 + 9 - 2, 2, both.seconds, both.cost), "what a fork took back is its own"
