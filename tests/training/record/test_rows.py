import sqlite3
from dataclasses import fields, replace

import numpy as np
import pytest
from helpers.group_records import recorded_group

from handaxe.core.records import (
    Advantages,
    Branch,
    Disposition,
    Ending,
    Group,
    Message,
    PlayedGroup,
    ScoredGroup,
    Scores,
    Task,
    TokenSequence,
    Trajectory,
    Turn,
    check,
)
from handaxe.testing.make_records import make_trajectory
from handaxe.training.record.groups import first_selector, group_fate, is_trained
from handaxe.training.record.reading import read_groups
from handaxe.training.record.schema import create
from handaxe.training.record.writing import write_group


def recorded():
    """Three siblings: two scored (the second a fork in two sequences, not trained), one that died. It has what a record
    of format 1 could keep, and is in format_1.sql."""
    task = Task("task", (Message("user", "?"),), answer=(1, "x"), tools=("calculator",), metadata={"level": 2})
    first = make_trajectory(layouts=["UUt pp tTt p"], features={"value": 0.25, "ref_logp": [-1.0, -2.0, -3.0]})
    second = make_trajectory(layouts=["UUt pp", "UUttTt p"])
    third = make_trajectory(layouts=["UUt p"])
    siblings = []
    for i, one in enumerate((first, second, third)):
        ending = (Ending("completed"), Ending("truncated", "turns"), Ending("infra_error", "died \ud800 \x00"))[i]
        branch = Branch("task/0", 0, 3) if i == 1 else None
        siblings.append(
            Trajectory(
                id=f"task/{i}",
                task=task,
                sample=i,
                turns=one.turns,
                sequences=one.sequences,
                ending=ending,
                messages=one.messages,
                tools=one.tools,
                seed=2**63 - 1 - i,
                branch_of=branch,
                env={"files": ("a", "b"), "n": 1},
                seconds=0.1 * i,
            )
        )
    scored = [siblings[0], siblings[1]]
    tokens = tuple(tuple(np.where(s.mask, 0.1 * (i + 1), 0.0) for s in t.sequences) for i, t in enumerate(scored))
    returns = tuple(tuple(np.where(s.mask, 7.0, 0.0) for s in t.sequences) for t in scored)
    turns = tuple(np.arange(len(t.turns), dtype=float) for t in scored)
    scores = Scores(
        np.array([1.0, np.nan]),
        turns,
        {"right": np.array([1.0, 0.0]), "odd": np.array([np.nan, np.inf])},
        {"fast": turns},
        np.array([True, False]),
    )
    return recorded_group(
        Group(task, tuple(siblings), 4),
        scores,
        Advantages(tokens, returns),
        scored=[True, True, False],
        trained=[True, False, False],
    )


def at_step(record, step):
    """The group as one of another step."""
    played = replace(record.played, group=replace(record.played.group, step=step))
    return replace(record, scored=replace(record.scored, played=played, group=replace(record.group, step=step)))


def with_what_is_new(record):
    """Also with facts, notes, forced and expert tokens, tokens that do not train, and a part."""
    first = make_trajectory(layouts=["UUt pfp tTx p"], features={"old_logp": [-1.0, -2.0, -3.0, -4.0]})
    facts = ({"reward": 0.5, "board": ("x", None)}, {})
    turns = tuple(replace(turn, facts=found) for turn, found in zip(first.turns, facts, strict=True))
    kept = {"turns": turns, "sequences": first.sequences, "notes": {"tried": [1, (2,)], "why \ud800": "?"}}
    siblings = (replace(record.played.group[0], **kept), *record.played.group.trajectories[1:])
    played = replace(record.played, group=replace(record.played.group, trajectories=siblings))
    group = replace(record.group, trajectories=siblings[:2])
    tokens = tuple(tuple(np.where(s.mask, 0.5, 0.0) for s in t.sequences) for t in siblings[:2])
    trains = tuple(tuple(s.author != 4 for s in t.sequences) for t in siblings[:2])
    scores = replace(record.scores, turns=None, turn_channels={})
    found = ScoredGroup(played, group, scores)
    return replace(record, scored=found, advantages=Advantages(tokens, None, trains), part=3)


def write_and_read(record):
    db = sqlite3.connect(":memory:")
    create(db)
    write_group(db, record)
    (found,) = read_groups(db)
    return found


def same_arrays(a, b):
    assert len(a) == len(b)
    for x, y in zip(a, b):
        assert x.dtype == y.dtype
        np.testing.assert_array_equal(x, y)


def assert_same(before, after):
    assert group_fate(after) == group_fate(before) and after.part == before.part
    assert after.group.task == before.group.task and after.group.step == before.group.step
    assert after.played.dispositions == before.played.dispositions
    places = range(len(before.played.group))
    assert [after.place(i) for i in places] == [before.place(i) for i in places]
    assert [is_trained(after, i) for i in places] == [is_trained(before, i) for i in places]
    same_arrays([before.trained], [after.trained])
    assert [t.id for t in before.group] == [t.id for t in after.group]
    for x, y in zip(before.played.group, after.played.group, strict=True):
        check(y)
        for field in fields(Trajectory):
            if field.name != "sequences":
                assert getattr(x, field.name) == getattr(y, field.name), field.name
        for s, t in zip(x.sequences, y.sequences, strict=True):
            names = [field.name for field in fields(TokenSequence) if field.name != "features"]
            same_arrays([getattr(s, name) for name in names], [getattr(t, name) for name in names])
            assert s.features.keys() == t.features.keys()
            same_arrays(list(s.features.values()), [t.features[name] for name in s.features])
    same_arrays([before.scores.outcome, before.scores.eligible], [after.scores.outcome, after.scores.eligible])
    for a, b in ((before.scores.turns, after.scores.turns), *paired(before.scores, after.scores, "turn_channels")):
        assert (a is None) == (b is None)
        same_arrays(a or (), b or ())
    for a, b in paired(before.scores, after.scores, "channels"):
        np.testing.assert_array_equal(a, b)
    for field in fields(Advantages):
        x, y = getattr(before.advantages, field.name), getattr(after.advantages, field.name)
        assert (x is None) == (y is None), field.name
        for one, other in zip(x or (), y or (), strict=True):
            same_arrays(one, other)


def paired(left, right, name):
    """The entries of two mappings of equal names."""
    left, right = getattr(left, name), getattr(right, name)
    assert left.keys() == right.keys()
    return [(left[key], right[key]) for key in left]


def test_a_group_comes_back_whole():
    before = recorded()
    assert_same(before, write_and_read(before))
    assert_same(with_what_is_new(before), write_and_read(with_what_is_new(before)))


def test_every_field_of_a_turn_has_a_column():
    """Turn is built from its row, so a field that is added needs a column, and the column its value."""
    db = sqlite3.connect(":memory:")
    create(db)
    columns = {row[1] for row in db.execute("PRAGMA table_info(turns)")}
    assert columns == {field.name for field in fields(Turn)} | {"trajectory", "place"}


def test_what_the_step_did_to_it_comes_back():
    moved = tuple(np.arange(len(s)) % 2 == 0 for s in recorded().group[0].sequences)
    before = replace(recorded(), moved=(moved, None))
    ages = np.array([0.0, 2.0, np.nan])
    histories = (
        (Disposition("trained"),),
        (Disposition("masked", "mask_overlong"), Disposition("masked", "mask \ud800")),
        (Disposition("unscored", "infra_error"),),
    )
    played = replace(before.played, dispositions=histories, ages=ages)
    after = write_and_read(replace(before, scored=replace(before.scored, played=played)))
    assert after.played.dispositions == histories and after.moved[1] is None
    assert [first_selector(own) for own in after.played.dispositions] == ["", "mask_overlong", ""]
    np.testing.assert_array_equal(after.played.ages, ages)
    same_arrays(after.moved[0], moved)
    plain = write_and_read(recorded())
    assert plain.played.ages is plain.moved is None


@pytest.mark.parametrize("fate", ["dropped", "unscored"])
def test_a_group_without_scores_comes_back(fate):
    before = recorded_group(recorded().played.group, fate=fate)
    after = write_and_read(before)
    assert isinstance(after, PlayedGroup) and after.dispositions == before.dispositions
    assert after.scores is None and after.advantages is None and group_fate(after) == fate and len(after.group) == 3


@pytest.mark.parametrize("fate", ["trained", "unselected", "surplus"])
def test_a_group_with_scores_keeps_its_fate(fate):
    before = recorded()
    before = recorded_group(
        before.played.group,
        before.scores,
        before.advantages,
        scored=[True, True, False],
        trained=[False] * 3,
        fate=fate,
    )
    after = write_and_read(before)
    assert group_fate(after) == fate and after.played.dispositions == before.played.dispositions
    assert not after.trained.any()


def test_the_columns_one_asks_for_in_sql():
    db = sqlite3.connect(":memory:")
    create(db)
    write_group(db, recorded())
    query = "SELECT ending, scored, trained, outcome, num_turns, num_tokens FROM trajectories ORDER BY id"
    assert db.execute(query).fetchall() == [
        ("completed", 1, 1, 1.0, 2, 3),
        ("truncated", 1, 0, None, 2, 3),
        ("infra_error", 0, 0, None, 1, 1),
    ]
    # The second one's outcome is NaN; the first one has 1 and, for its turns, 0 and 1.
    assert db.execute("SELECT total, called FROM trajectories ORDER BY id").fetchall()[0] == (2.0, "[]")
    query = "SELECT sum(value) FROM channels JOIN trajectories ON id = trajectory WHERE channels.name = 'right'"
    assert db.execute(query).fetchall() == [(1.0,)]
