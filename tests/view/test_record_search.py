import sqlite3
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from helpers.group_records import recorded_group

from handaxe.core.errors import InputError
from handaxe.core.records import Ending, Group, Message, Scores, Task, ToolCall
from handaxe.testing.make_records import make_trajectory
from handaxe.training.record.groups import group_fate
from handaxe.training.record.run_record import RunRecord
from handaxe.training.record.schema import upgrade
from handaxe.view.record_search import MOST_WORDS, ORDERS, Where, count, keys, read_found, search
from handaxe.view.why import outcome_class

OLD = Path(__file__).parents[1] / "training" / "record" / "format_1.sql"

SAID = [
    ("The answer is 408.", "calculator", {"expression": "12*34"}),
    ("I found\nabla and 100%_of it!", "search", {"query": "role model"}),
    ('Nothing "quoted" here, \u00c9t\u00e9 \ud800', "search", {"query": ["a", {"deep": "needle"}], "n": 7}),
    ("plain words", None, {}),
]
ENDINGS = [Ending("completed"), Ending("truncated", "length"), Ending("truncated", "stopped"), Ending("infra_error")]


def attempt(step, k):
    text, tool, arguments = SAID[k]
    calls = [[ToolCall(tool, arguments)]] if tool else [[]]
    one = make_trajectory(texts=[text], calls=calls, replies=[[]], ending=ENDINGS[k])
    return replace(one, id=f"{step}/t/{k}", sample=k, messages=(Message("user", "q?"), *one.messages[1:]))


def group(step, *, turns=None, fate="trained"):
    siblings = tuple(attempt(step, k) for k in range(4))
    scored = np.array([True, True, False, False])
    own = None if turns is None else tuple(np.full(len(t.turns), value) for t, value in zip(siblings, turns))
    scores = Scores(np.array([1.0, 0.25]), own)
    trained = scored & (fate == "trained")
    return recorded_group(
        Group(Task(f"t{step}", ()), siblings, step), scores, scored=scored, trained=trained, fate=fate
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    with RunRecord(folder) as record:
        record.write_step(0, [group(0)], {})
        record.write_step(1, [group(1, turns=(0.0, 0.5), fate="unselected")], {})
    return folder


@pytest.fixture
def record(folder):
    with RunRecord.open(folder) as record:
        yield record


def names(record, where, **options):
    found = search(record, where, **options)
    assert len(found) == count(record, where) or options
    return [one.id for one in found]


def test_what_a_row_says(record):
    first, second, *_ = search(record, Where(step=(1, 1)))
    assert (first.id, first.step, first.task, first.sample) == ("1/t/0", 1, "t1", 0)
    assert (first.turns, first.calls, first.tokens, first.final_text) == (1, 1, 2, "The answer is 408.")
    assert (first.score, first.outcome, first.scored, first.trained, first.fate) == (
        1,
        "correct",
        True,
        False,
        "unselected",
    )
    assert (second.score, second.outcome, second.ending, second.reason) == (0.75, "correct", "truncated", "length")
    group, place = record.group_of(second.key)
    assert place == 1 and group.played.group[place].id == "1/t/1" and group_fate(group) == "unselected"
    with pytest.raises(InputError, match="no trajectory in row 999"):
        record.group_of(999)


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ({}, "0123 0123"),
        ({"tool": "search"}, "12 12"),
        ({"tool": "sea"}, " "),
        ({"outcome": "correct"}, "0 01"),
        ({"outcome": "truncated"}, "1 "),
        ({"outcome": "stopped"}, "2 2"),
        ({"outcome": "infra_error"}, "3 3"),
        ({"outcome": "scored"}, "01 01"),
        ({"fate": "unselected"}, " 0123"),
        ({"task": "t0"}, "0123 "),
        ({"step": (1, None)}, " 0123"),
        ({"score": (0.5, None)}, "0 01"),
        ({"score": (None, 0.3)}, "1 "),
        ({"trained": False}, "23 0123"),
        ({"text": "ANSWER 408"}, "0 0"),
        ({"text": '"answer is"'}, "0 0"),
        ({"text": '"is answer"'}, " "),
        ({"text": "abla"}, "1 1"),
        ({"text": "nabla"}, " "),  # \n of the JSON is no n
        ({"text": "100%_of"}, "1 1"),
        ({"text": "100__of"}, " "),
        ({"text": "role"}, "1 1"),  # the name of a field is not said, an argument is
        ({"text": "content"}, " "),
        ({"text": "needle"}, "2 2"),
        ({"text": "query"}, "12 12"),
        ({"text": "\u00e9T\u00c9"}, "2 2"),
        ({"text": "calculator"}, "0 0"),
        ({"text": "q?", "tool": "calculator", "outcome": "correct"}, "0 0"),
    ],
)
def test_search_finds_what_fits(record, where, expected):
    first, second = expected.split(" ")
    assert names(record, Where(**where)) == [f"0/t/{k}" for k in first] + [f"1/t/{k}" for k in second]


def test_the_outcome_in_sql_is_that_of_the_word(record):
    for one in search(record, Where()):
        group, place = record.group_of(one.key)
        assert one.outcome == outcome_class(group.played.group[place], one.score)


def test_pages_and_orders(record):
    everything = names(record, Where())
    assert [*names(record, Where(), most=3), *names(record, Where(), first=3, most=3)] == everything[:6]
    assert names(record, Where(), descending=True) == everything[::-1]
    scores = [one.score for one in search(record, Where(outcome="scored"), order="score", descending=True)]
    assert scores == [1.0, 1.0, 0.75, 0.25]
    rows = keys(record, Where(), order="score")
    assert [one.id for one in read_found(record, [*rows[2:4], 999])] == names(
        record, Where(), order="score", first=2, most=2
    )
    for order in ORDERS:
        assert sorted(names(record, Where(), order=order)) == sorted(everything)
    with pytest.raises(InputError, match="no order 'name; DROP'; give one of step"):
        search(record, Where(), order="name; DROP")


def test_what_is_asked_is_no_sql(record):
    assert names(record, Where(tool="'; DROP TABLE groups; --", text="' OR 1=1 -- %")) == []
    assert count(record, Where()) == 8


def test_old_records_are_searched_as_well(tmp_path):
    db = sqlite3.connect(tmp_path / "record.sqlite")
    db.executescript(OLD.read_text())
    db.close()
    wanted = [Where(), Where(tool="add"), Where(outcome="correct"), Where(score=(0.5, None)), Where(text="1 2")]
    with RunRecord.open(tmp_path) as record:
        old = [search(record, where) for where in wanted]
        assert [len(one) for one in old][:2] == [7, 4]
        # The group of `test_rows.group_record`: outcome 1 and turns 0 and 1 make 2.
        assert [one.score for one in old[0] if one.id == "task/0"] == [2.0]
    db = sqlite3.connect(tmp_path / "record.sqlite")
    upgrade(db, 1)
    db.close()
    with RunRecord.open(tmp_path) as record:
        assert repr([search(record, where) for where in wanted]) == repr(old)


@pytest.mark.parametrize("word", ["a", "\u00e9", '"two words"', "name", "%"])
def test_longest_search_is_executed_and_a_longer_one_is_an_error(record, word):
    assert names(record, Where(text=" ".join([word] * MOST_WORDS))) is not None
    with pytest.raises(InputError, match=f"a search of 1200 words is too long; give at most {MOST_WORDS}"):
        Where(text=" ".join([word] * 1200))
