"""Every invariant of a trajectory has an example here that breaks it and nothing else."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handaxe.core.errors import RecordError
from handaxe.core.images import PLACEHOLDER, Image
from handaxe.core.records import Branch, Ending, Group, Message, ToolCall, ToolReply
from handaxe.core.validation import check, check_group
from handaxe.testing.make_records import make_task, make_trajectory
from handaxe.testing.random_groups import random_group


def drawing(**more):
    """Policy tokens at 3, 4 and 8 of 9."""
    return make_trajectory(layouts=["UUt pp tTt p"], **more)


def with_sequence(**changes):
    one = drawing(features={"value": 0.5})
    return replace(one, sequences=(replace(one.sequences[0], **changes),))


def with_entry(name, place, value):
    array = getattr(drawing().sequences[0], name).copy()
    array[place] = value
    return with_sequence(**{name: array})


def with_forced(name, place, value):
    """A turn of which one token, 4, was forced; something else there."""
    one = make_trajectory(layouts=["UUt pfp tTx p"])
    (row,) = one.sequences
    array = getattr(row, name).copy()
    array[place] = value
    return replace(one, sequences=(replace(row, **{name: array}),))


def with_turn(k, **changes):
    one = drawing()
    turns = list(one.turns)
    turns[k] = replace(turns[k], **changes)
    return replace(one, turns=tuple(turns))


def with_parsed(k, **changes):
    return with_turn(k, parsed=replace(drawing().turns[k].parsed, **changes))


def cut_to(trajectory, part):
    (row,) = trajectory.sequences
    names = ("ids", "author", "turn", "logp", "behaviour_logp", "version")
    return replace(trajectory, sequences=(replace(row, **{name: getattr(row, name)[part] for name in names}),))


CALL = ToolCall("search", {}, "a")
BROKEN = {
    "no sequence": (replace(drawing(), sequences=(), turns=()), "no sequence"),
    "empty sequence": (cut_to(make_trajectory(layouts=["Ut"]), slice(0)), "is empty"),
    "first token sampled": (cut_to(make_trajectory(layouts=["Utp"]), slice(2, None)), "first token is sampled"),
    "logp of a forced token": (with_forced("logp", 4, -0.5), "logp is not 0 where"),
    "version of a forced token": (with_forced("version", 4, 0), "version must be"),
    "forced by nothing": (with_forced("behaviour_logp", 4, -np.inf), "behaviour_logp of a sampled token"),
    "forced for certain and more": (with_forced("behaviour_logp", 4, 0.5), "behaviour_logp of a sampled token"),
    "logp of an expert": (with_forced("logp", 8, -0.5), "logp is not 0 where"),
    "behaviour of an expert": (with_forced("behaviour_logp", 8, -0.5), "behaviour_logp is not 0 where"),
    "version of an expert": (with_forced("version", 8, 0), "version must be"),
    "forced token of no turn": (with_forced("author", 7, 4), "version must be|belong to no turn"),
    "short author": (with_sequence(author=drawing().sequences[0].author[:-1]), "author has 8 entries"),
    "short turn": (with_sequence(turn=np.zeros(10)), "turn has 10 entries"),
    "short logp": (with_sequence(logp=np.zeros(8, np.float32)), "logp has 8 entries for 9 ids"),
    "short version": (with_sequence(version=np.zeros(2)), "version has 2 entries"),
    "short feature": (with_sequence(features={"value": np.zeros(1)}), "value has 1 entries"),
    "positive logp": (with_entry("logp", 3, 0.5), "logp of a sampled token is not a log-probability"),
    "nan logp": (with_entry("logp", 3, np.nan), "logp of a sampled token"),
    "minus infinity": (with_entry("behaviour_logp", 3, -np.inf), "behaviour_logp of a sampled token"),
    "logp of a prompt": (with_entry("logp", 0, -0.5), "logp is not 0 where"),
    "logp of a reply": (with_entry("behaviour_logp", 6, -0.5), "behaviour_logp is not 0 where"),
    "cutting lowers": (with_entry("behaviour_logp", 4, -0.6), "behaviour_logp is below logp"),
    "no version": (with_entry("version", 4, -1), "version"),
    "version of a reply": (with_entry("version", 6, 0), "version"),
    "span to the left": (with_turn(0, start=0, stop=2), "not inside"),
    "span is empty": (with_turn(0, stop=3), "span \\[3, 3\\)"),
    "span too long": (with_turn(1, stop=10), "span \\[8, 10\\)"),
    "span of no sequence": (with_turn(1, sequence=1), "not inside sequence 1"),
    "span over a reply": (with_turn(1, start=7), "another author"),
    "turn numbers": (with_entry("turn", 4, 1), "another author or turn"),
    "orphan tokens": (with_turn(0, stop=4), "belong to no turn"),
    "no turn": (replace(drawing(), turns=()), "belong to no turn"),
    "turns swapped": (replace(drawing(), turns=drawing().turns[::-1]), "another author or turn"),
    "call ids": (with_parsed(0, calls=(CALL, CALL)), "share an id"),
    "cut, yet answered": (with_turn(0, finish="length", replies=(ToolReply("", "search", "x"),)), "cut by the length"),
    "reply to nothing": (with_turn(1, replies=(ToolReply("a", "search", "x"),)), "was not made in it"),
    "truncated for": (replace(drawing(), ending=Ending("truncated", "tired")), "'tired'"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_check_raises_for_each_broken_invariant(name):
    trajectory, message = BROKEN[name]
    with pytest.raises(RecordError, match=message) as raised:
        check(trajectory)
    assert repr(trajectory.id) in str(raised.value)


def test_check_reports_all_problems_at_once():
    row = drawing().sequences[0]
    bad = with_sequence(logp=row.logp + 1, version=row.version + 1)
    with pytest.raises(RecordError) as raised:
        check(bad)
    assert len(str(raised.value).splitlines()) >= 4


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 2**31), st.sampled_from(["author", "turn", "version", "logp"]))
def test_check_detects_a_change_of_any_sampled_token(seed, place, name):
    """Whatever trajectory, whichever sampled token: another author, turn or version, or a positive log-prob is seen."""
    trajectory = random_group(seed, size=1)[0]
    check(trajectory)
    turn = trajectory.turns[place % len(trajectory.turns)]
    row = trajectory.sequences[turn.sequence]
    array = getattr(row, name).copy()
    array[turn.start + place % (turn.stop - turn.start)] = {"author": 0, "turn": 99, "version": -1, "logp": 0.5}[name]
    rows = list(trajectory.sequences)
    rows[turn.sequence] = replace(row, **{name: array})
    with pytest.raises(RecordError):
        check(replace(trajectory, sequences=tuple(rows)))


def test_behaviour_logp_may_exceed_logp_and_round_above_zero():
    """top_k and top_p raise what is left of the distribution, and 1e-5 above 0 is rounding."""
    row = drawing().sequences[0]
    check(with_sequence(behaviour_logp=row.logp / 2))
    check(with_sequence(behaviour_logp=np.where(row.mask, 5e-6, 0).astype(np.float32)))


def test_a_forced_token_may_have_any_behaviour_logp():
    """Its logp is unknown and stands as 0, so nothing is said of behaviour_logp below it."""
    check(with_forced("behaviour_logp", 4, -9.0))
    check(with_forced("behaviour_logp", 4, 0.0))


def forked(token, sequence=0, *, of="a", **changed):
    """A group of a trajectory and its copy, said to be a fork of it; `changed` arrays are one more at place 4."""
    left = replace(make_trajectory(layouts=["UUt pp tTt p", "UUt ppp"]), id="a")
    rows = list(left.sequences)
    for name, where in changed.items():
        array = getattr(rows[where], name).copy()
        array[4] += 1
        rows[where] = replace(rows[where], **{name: array})
    right = replace(left, id="b", sequences=tuple(rows), branch_of=Branch(of, sequence, token))
    return Group(make_task(), (left, right))


def test_a_fork_shares_its_prefix_with_its_sibling():
    check_group(forked(4))
    check_group(forked(4, ids=0))
    check_group(forked(5, of="not in the group", ids=0))
    check_group(forked(4, 1, ids=1))


@pytest.mark.parametrize(
    ("group", "message"),
    [
        (forked(5, ids=0), "sequence 0: ids of what it shares with 'a' is another there"),
        (forked(5, version=0), "sequence 0: version of what it shares"),
        (forked(2, 1, ids=0), "sequence 0: ids of what it shares"),
        (forked(5, 1, ids=1), "sequence 1: ids of what it shares"),
        (forked(99), "there is no such place in both"),
        (forked(1, 7), "there is no such place in both"),
    ],
)
def test_a_fork_with_another_prefix_is_an_error(group, message):
    with pytest.raises(RecordError, match=f"'b' breaks the record:\n.*{message}"):
        check_group(group)


def test_siblings_with_one_id_and_invalid_siblings_are_errors():
    one = drawing()
    with pytest.raises(RecordError, match="two trajectories of the group of task 'task-0' have the same id"):
        check_group(Group(make_task(), (one, one)))
    with pytest.raises(RecordError, match="not a log-probability"):
        check_group(Group(make_task(), (with_entry("logp", 3, 0.5),)))


ONE, OTHER = Image.of(np.zeros((1, 2, 3), np.uint8)), Image.of(np.ones((1, 2, 3), np.uint8))


def shown(*, start=0, ids=None, authors=None, images=(ONE,), content=PLACEHOLDER):
    """A trajectory whose first three user tokens are those of an image, with others put at `start`."""
    one = make_trajectory(layouts=["UUUUt pp tTTTt p"])
    (row,) = one.sequences
    new_ids, new_authors = row.ids.copy(), row.author.copy()
    new_ids[:3] = ONE.ids(3)
    if ids is not None:
        new_ids[start : start + len(ids)] = ids
    if authors is not None:
        new_authors[start : start + len(authors)] = authors
    messages = (Message("user", content, images=tuple(images)), *one.messages[1:])
    return replace(one, sequences=(replace(row, ids=new_ids, author=new_authors),), messages=messages)


def test_images_of_users_tools_and_templates_pass():
    check(shown())
    check(shown(authors=[0, 1, 2]))
    check(shown(start=8, ids=ONE.ids(3)))
    check(shown(start=8, ids=OTHER.ids(2), images=(ONE, OTHER), content=PLACEHOLDER * 2))
    check(shown(start=8, ids=[*OTHER.ids(1), *OTHER.ids(1)], images=(ONE, OTHER), content=PLACEHOLDER * 2))
    check(replace(drawing(), messages=(Message("user", PLACEHOLDER * 3),)))  # no image, so a character like any other


@pytest.mark.parametrize(
    ("trajectory", "message"),
    [
        (shown(content="no image"), "message 0: 0 placeholders in the text for 1 images beside it"),
        (shown(content=PLACEHOLDER * 2), "message 0: 2 placeholders in the text for 1 images"),
        (shown(start=8, ids=OTHER.ids(3)), "sequence 0: ids of an image that no message shows"),
        (shown(start=8, ids=ONE.ids(2)), "one image has runs of different lengths"),
        (shown(start=0, ids=ONE.ids(4)[1:]), "sequence 0: the image tokens at 0 do not begin with token 0"),
        (shown(start=1, ids=[9]), "sequence 0: the image tokens at 2 do not begin with token 0"),
        (shown(start=0, authors=[1, 5, 1]), "image tokens written by the policy, another process or an expert"),
        (shown(start=5, ids=[ONE.ids(1)[0]]), "image tokens written by the policy"),
        (with_turn(0, replies=(ToolReply("", "t", "x", images=(ONE,)),)), "turn 0: a reply: 0 placeholders"),
    ],
)
def test_broken_images_are_errors(trajectory, message):
    with pytest.raises(RecordError, match=message):
        check(trajectory)
