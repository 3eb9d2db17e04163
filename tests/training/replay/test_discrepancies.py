from dataclasses import replace

import numpy as np
import pytest

from handaxe.core.images import PLACEHOLDER, Image
from handaxe.core.records import Ending, Message, ToolReply, ToolSchema
from handaxe.testing.make_records import make_trajectory
from handaxe.training.replay.discrepancies import Discrepancy, differing, discrepancies, reply_difference

ONE = make_trajectory(texts=["", "408"], calls=[["calculator"], []], replies=[["408"], []], env={"n": 1})


def changed(**fields):
    return replace(ONE, **fields)


def with_turn(k, **fields):
    turns = list(ONE.turns)
    turns[k] = replace(turns[k], **fields)
    return changed(turns=tuple(turns))


def with_entry(name, place, value):
    (row,) = ONE.sequences
    array = getattr(row, name).copy()
    array[place] = value
    return changed(sequences=(replace(row, **{name: array}),))


@pytest.mark.parametrize(
    ("one", "other", "place"),
    [([1, 2, 3], [1, 2, 3], None), ([1, 2], [1, 2, 3], 2), ([1, 9, 3], [1, 2], 1), ([], [], None), ([], [1], 0)],
)
def test_where_two_arrays_differ(one, other, place):
    assert differing(np.array(one), np.array(other)) == place == differing(np.array(other), np.array(one))


def test_equal_trajectories():
    assert discrepancies(ONE, ONE, state=True) == []
    assert discrepancies(ONE, with_turn(0, seconds=9.0, cost=3.0), state=True) == [], "how long it took is not compared"


@pytest.mark.parametrize(
    ("other", "what", "turn", "token"),
    [
        (with_entry("ids", 2, 7), "ids", 0, 2),
        (with_entry("ids", 0, 7), "ids", None, 0),
        (with_entry("author", 5, 0), "ids", 0, 5),
        (changed(sequences=ONE.sequences * 2), "ids", None, None),
        (changed(messages=ONE.messages[:-1]), "messages", None, None),
        (changed(messages=(Message("user", "another"), *ONE.messages[1:])), "messages", None, None),
        (changed(tools=(ToolSchema("t", "", {}),)), "messages", None, None),
        (with_turn(1, parsed=ONE.turns[0].parsed), "messages", 1, None),
        (with_turn(1, finish="header"), "messages", 1, None),
        (with_turn(0, replies=(replace(ONE.replies[0], content="409"),)), "replies", 0, None),
        (with_turn(0, replies=()), "replies", 0, None),
        (changed(ending=Ending("truncated", "turns")), "ending", None, None),
        (changed(env={"n": 2}), "state", None, None),
    ],
)
def test_each_kind_is_found_where_it_is(other, what, turn, token):
    (found,) = discrepancies(ONE, other, state=True)
    assert found.trajectory == ONE.id and (found.what, found.turn, found.token) == (what, turn, token)
    assert found.recorded != found.replayed


def test_the_first_of_each_kind():
    other = replace(with_entry("ids", 3, 7), ending=Ending("policy_error", "x"), env={})
    assert [d.what for d in discrepancies(ONE, other, state=True)] == ["ids", "ending", "state"]
    assert [d.what for d in discrepancies(ONE, other)] == ["ids", "ending"]
    assert [d.what for d in discrepancies(ONE, other, ending=False)] == ["ids"]


@pytest.mark.parametrize(
    ("recorded", "replayed", "equal"),
    [
        (Ending("infra_error", "a"), Ending("infra_error", "b"), True),
        (Ending("infra_error"), Ending("completed"), False),
        (Ending("verifier_error"), Ending("truncated", "turns"), True),
        (Ending("truncated", "turns"), Ending("truncated", "length"), False),
        (Ending("policy_error", "a"), Ending("policy_error", "b"), False),
    ],
)
def test_endings(recorded, replayed, equal):
    assert (discrepancies(changed(ending=recorded), changed(ending=replayed)) == []) is equal


def test_replies():
    reply = ToolReply("c", "add", "4", seconds=1.0)
    assert reply_difference("t", 0, reply, replace(reply, seconds=9.0)) is None
    assert reply_difference("t", 0, None, None) is None
    found = reply_difference("t", 3, reply, replace(reply, status="retry", content="no"))
    assert found == Discrepancy("t", "replies", "status 'ok'", "status 'retry'", 3)
    assert reply_difference("t", 0, None, reply) == Discrepancy("t", "replies", "no reply", "'4'", 0)


def test_the_place_in_words():
    assert Discrepancy("t", "ids", "", "", 1, 0, 57).place == "turn 1, sequence 0, token 57"
    assert Discrepancy("t", "ending", "", "").place == ""


def test_other_images_are_found():
    one, other = (Image.of(np.full((1, 1, 3), k, np.uint8)) for k in (1, 2))
    replies = [ToolReply("c", "t", PLACEHOLDER, images=(image,)) for image in (one, other)]
    assert reply_difference("a", 0, replies[0], replies[0]) is None
    found = reply_difference("a", 0, *replies)
    assert found.what == "replies" and f"images ({one!r},)" in found.recorded and repr(other) in found.replayed
    recorded, replayed = (changed(messages=(Message("tool", PLACEHOLDER, images=(image,)),)) for image in (one, other))
    (found,) = discrepancies(recorded, replayed)
    assert repr(one) in found.recorded and repr(other) in found.replayed
