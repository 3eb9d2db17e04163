"""Properties of records; their invariants are in test_validation.py."""

from dataclasses import replace

import numpy as np

import handaxe.core.records
import handaxe.core.validation
from handaxe.core.records import Author, ToolReply
from handaxe.testing.make_records import make_group, make_rated, make_trajectory


def test_mask_selects_policy_tokens():
    (row,) = make_trajectory(layouts=["UtpTp"]).sequences
    assert row.mask.tolist() == [False, False, True, False, True]
    assert len(row) == 5 and row.author[3] == Author.TOOL


def test_mask_includes_forced_tokens_and_excludes_expert_tokens():
    (row,) = make_trajectory(layouts=["UtpfTxf"]).sequences
    assert row.mask.tolist() == [False, False, True, True, False, False, True]
    assert row.forced.tolist() == [False, False, False, True, False, False, True]
    assert row.author[5] == Author.EXPERT


def test_training_mask_is_trained_and_trains_and_mask():
    one = make_rated(group=make_group(layouts=[["Utp", "Utpp"], "Utp"]), trained=[True, False])
    assert [mask.tolist() for mask in one.training_mask(0)] == [[False, False, True], [False, False, True, True]]
    assert [mask.tolist() for mask in one.training_mask(1)] == [[False] * 3]
    trains = ((np.array([True] * 3), np.array([True, True, False, True])), (np.ones(3, bool),))
    one = replace(one, advantages=replace(one.advantages, trains=trains))
    assert [mask.tolist() for mask in one.training_mask(0)] == [[False, False, True], [False, False, False, True]]
    assert not one.training_mask(1)[0].any()


def test_trajectory_properties_collect_calls_replies_and_cost():
    reply = ToolReply("", "search", "x", cost=0.5)
    one = make_trajectory(
        layouts=["Utpp", "Utp"], texts=["a", "b"], calls=[["search", "sum"], ["sum"]], replies=[[reply], []]
    )
    assert [call.name for call in one.calls] == ["search", "sum", "sum"]
    assert one.replies == [reply] and one.cost == 0.5
    assert one.num_tokens == 3 and one.final_text == "b"


def test_a_group_is_a_sequence_of_trajectories():
    group = make_group(size=3)
    assert len(group) == 3 and [one.sample for one in group] == [0, 1, 2] and group[2] is group.trajectories[2]


def test_records_export_check():
    assert handaxe.core.records.check is handaxe.core.validation.check


def test_records_with_arrays_compare_by_identity():
    """Comparing arrays entry by entry would make == ambiguous."""
    left, right = make_trajectory(), make_trajectory()
    assert left != right and left == left
    assert np.array_equal(left.sequences[0].ids, right.sequences[0].ids)
