from dataclasses import replace

import numpy as np

from handaxe.core.records import Branch, Group, Spent
from handaxe.ops.forks import owners, shared_turns, steps_of, used_together
from handaxe.testing.records import make_trajectory


def forked(*members):
    """Trajectories by (id, layouts, branch_of)."""
    made = [replace(make_trajectory(layouts=layouts), id=id, branch_of=at) for id, layouts, at in members]
    return Group(made[0].task, tuple(made))


THREE = "Up Tp Tp"  # turns at 1, 3 and 5


def test_example_of_owners():
    group = forked(("t/0", ["Uppppp"], None), ("t/1", ["Uppppp"], Branch("t/0", 0, 4)))
    (first,), (second,) = owners(group)
    assert (first.tolist(), second.tolist()) == ([0] * 6, [0, 0, 0, 0, 1, 1])


def test_example_of_steps():
    group = forked(("t/0", [THREE], None), ("t/1", ["Up Tp"], Branch("t/0", 0, 3)))
    found = steps_of(group)
    assert [own.tolist() for own in found.of] == [[0, 1, 2], [0, 3]]
    assert found.parents.tolist() == [-1, 0, 1, 0] and found.through == [[0, 1], [0], [0], [1]]
    assert found.children(-1).tolist() == [0] and found.children(0).tolist() == [1, 3]
    assert [shared_turns(one) for one in group] == [0, 1]


def test_a_fork_of_a_fork_shares_with_the_first_what_the_second_does():
    group = forked(
        ("c", [THREE], Branch("b", 0, 5)),
        ("b", [THREE], Branch("a", 0, 3)),
        ("a", [THREE], None),  # in no order
    )
    assert [o[0].tolist() for o in owners(group)] == [[2, 2, 2, 1, 1, 0], [2, 2, 2, 1, 1, 1], [2] * 6]
    found = steps_of(group)
    assert found.through == [[0, 1, 2], [0, 1], [0], [1], [2], [2]]
    early = forked(("a", [THREE], None), ("b", [THREE], Branch("a", 0, 5)), ("c", [THREE], Branch("b", 0, 3)))
    assert steps_of(early).through == [[0, 1, 2], [0, 1], [0], [1], [2], [2]]


def test_within_a_turn_the_turn_is_its_own_and_at_its_end_it_is_shared_but_answered_anew():
    inside = forked(("a", ["Uppp Tp"], None), ("b", ["Uppp Tp"], Branch("a", 0, 2)))
    assert steps_of(inside).through == [[0], [0], [1], [1]] and owners(inside)[1][0].tolist() == [0, 0, 1, 1, 1, 1]
    at_end = forked(("a", ["Uppp Tp"], None), ("b", ["Uppp Tp"], Branch("a", 0, 4)))
    assert steps_of(at_end).through == [[0, 1], [0], [1]] and shared_turns(at_end[1]) == 0


def test_forks_of_what_is_not_there_share_with_each_other():
    group = forked(("b", [THREE], Branch("gone", 0, 3)), ("c", [THREE], Branch("gone", 0, 5)), ("d", [THREE], None))
    assert steps_of(group).through == [[0, 1], [0], [0], [1], [1], [2], [2], [2]]


def test_earlier_sequences_are_shared_whole():
    layouts = ["Up Tp", "UUT p Tp"]
    group = forked(("a", layouts, None), ("b", layouts, Branch("a", 1, 5)), ("c", layouts, Branch("a", 0, 3)))
    assert [[own.tolist() for own in one] for one in owners(group)] == [
        [[0] * 4, [0] * 6],
        [[0] * 4, [0] * 5 + [1]],
        [[0] * 3 + [2], [2] * 6],
    ]
    assert [shared_turns(one) for one in group] == [0, 3, 1]


def test_without_forks_everything_is_its_own():
    group = forked(("a", [THREE], None), ("b", ["U"], None))
    found = steps_of(group)
    assert found.through == [[0], [0], [0]] and found.of[1].shape == (0,) and found.parents.tolist() == [-1, 0, 1]
    empty = steps_of(Group(group.task, ()))
    assert empty.of == [] and empty.parents.dtype == np.int64 and owners(Group(group.task, ())) == []


def test_example_of_what_was_used():
    group = forked(("t/0", ["Upppppp"], None), ("t/1", ["Uppppp"], Branch("t/0", 0, 3)))
    assert used_together(group).tokens == 6 + 5 - 2
    alone = forked(("t/1", ["Uppppp"], Branch("elsewhere", 0, 3)))
    assert used_together(alone).tokens == 5
    spent = replace(group[1], spent=Spent(tokens=9, calls=2, seconds=1.5, cost=3.0))
    both = used_together(Group(group.task, (group[0], spent)))
    assert both == Spent(6 + 9 - 2, 2, both.seconds, both.cost), "what a fork took back is its own"
