"""What records say of themselves; their invariants are in test_invariants.py."""

import numpy as np

import handaxe.invariants
import handaxe.records
from handaxe.records import Author, ToolReply
from handaxe.testing.records import make_group, make_trajectory


def test_mask_is_what_the_policy_wrote():
    (row,) = make_trajectory(layouts=["UtpTp"]).sequences
    assert row.mask.tolist() == [False, False, True, False, True]
    assert len(row) == 5 and row.author[3] == Author.TOOL


def test_views_of_a_trajectory():
    reply = ToolReply("", "search", "x", cost=0.5)
    one = make_trajectory(
        layouts=["Utpp", "Utp"], texts=["a", "b"], calls=[["search", "sum"], ["sum"]], replies=[[reply], []]
    )
    assert [call.name for call in one.calls] == ["search", "sum", "sum"]
    assert one.replies == [reply] and one.cost == 0.5
    assert one.num_tokens == 3 and one.final_text == "b"


def test_a_group_is_its_trajectories():
    group = make_group(size=3)
    assert len(group) == 3 and [one.sample for one in group] == [0, 1, 2] and group[2] is group.trajectories[2]


def test_the_check_is_within_reach():
    assert handaxe.records.check is handaxe.invariants.check


def test_records_with_arrays_compare_by_identity():
    """Comparing arrays entry by entry would make == ambiguous."""
    left, right = make_trajectory(), make_trajectory()
    assert left != right and left == left
    assert np.array_equal(left.sequences[0].ids, right.sequences[0].ids)
