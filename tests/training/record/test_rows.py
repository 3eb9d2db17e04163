import sqlite3

import numpy as np
import pytest
from handaxe.training.record_rows import SCHEMA, GroupRecord, read_group, write_group

from handaxe.records import Advantages, Branch, Ending, Group, Message, Scores, Task, Trajectory, check
from handaxe.testing.records import make_trajectory


def group_record():
    """Three siblings: two scored (the second a fork in two sequences, not trained), one that died."""
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
    return GroupRecord(
        Group(task, tuple(siblings), 4),
        np.array([True, True, False]),
        np.array([True, False, False]),
        scores,
        Advantages(tokens, returns),
        "trained",
    )


def write_and_read(record):
    db = sqlite3.connect(":memory:")
    db.executescript(SCHEMA)
    write_group(db, record)
    ((group_id, step, task, fate),) = db.execute("SELECT id, step, task, fate FROM groups").fetchall()
    return read_group(db, group_id, step, task, fate)


def same_arrays(a, b):
    assert len(a) == len(b)
    for x, y in zip(a, b):
        assert x.dtype == y.dtype
        np.testing.assert_array_equal(x, y)


def test_a_group_comes_back_whole():
    before = group_record()
    after = write_and_read(before)
    assert after.fate == before.fate and after.group.task == before.group.task and after.group.step == 4
    same_arrays([before.scored, before.trained], [after.scored, after.trained])
    for x, y in zip(before.group, after.group, strict=True):
        check(y)
        for name in (
            "id",
            "task",
            "sample",
            "turns",
            "ending",
            "messages",
            "tools",
            "seed",
            "branch_of",
            "env",
            "seconds",
        ):
            assert getattr(x, name) == getattr(y, name), name
        for s, t in zip(x.sequences, y.sequences, strict=True):
            names = ("ids", "author", "turn", "logp", "behaviour_logp", "version")
            same_arrays([getattr(s, name) for name in names], [getattr(t, name) for name in names])
            assert s.features.keys() == t.features.keys()
            same_arrays(list(s.features.values()), [t.features[name] for name in s.features])
    same_arrays([before.scores.outcome, before.scores.eligible], [after.scores.outcome, after.scores.eligible])
    same_arrays(before.scores.turns, after.scores.turns)
    same_arrays(before.scores.turn_channels["fast"], after.scores.turn_channels["fast"])
    assert after.scores.channels.keys() == {"right", "odd"}
    np.testing.assert_array_equal(after.scores.channels["odd"], [np.nan, np.inf])
    for x, y in zip(
        (before.advantages.tokens, before.advantages.returns), (after.advantages.tokens, after.advantages.returns)
    ):
        for one, other in zip(x, y, strict=True):
            same_arrays(one, other)


@pytest.mark.parametrize("fate", ["dropped", "unscored"])
def test_a_group_without_scores_comes_back(fate):
    nobody = np.zeros(3, bool)
    after = write_and_read(GroupRecord(group_record().group, nobody, nobody, fate=fate))
    assert after.scores is None and after.advantages is None and after.fate == fate and len(after.group) == 3


def test_the_columns_one_asks_for_in_sql():
    db = sqlite3.connect(":memory:")
    db.executescript(SCHEMA)
    write_group(db, group_record())
    query = "SELECT ending, scored, trained, outcome, num_turns, num_tokens FROM trajectories ORDER BY id"
    assert db.execute(query).fetchall() == [
        ("completed", 1, 1, 1.0, 2, 3),
        ("truncated", 1, 0, None, 2, 3),
        ("infra_error", 0, 0, None, 1, 1),
    ]
    query = "SELECT sum(value) FROM channels JOIN trajectories ON id = trajectory WHERE channels.name = 'right'"
    assert db.execute(query).fetchall() == [(1.0,)]
