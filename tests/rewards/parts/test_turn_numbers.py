from dataclasses import replace

import pytest

from handaxe.rewards.parts.turn_numbers import common_names, seen_values, turn_numbers
from handaxe.testing.make_records import make_trajectory


def rollout(*facts, statuses=("ok", "failed", "retry")):
    count = len(facts)
    made = make_trajectory(texts=[""] * count, calls=[["f"]] * count, replies=[["x"]] * count)
    turns = []
    for turn, own, status in zip(made.turns, facts, statuses, strict=False):
        turns.append(replace(turn, facts=own, replies=tuple(replace(one, status=status) for one in turn.replies)))
    return replace(made, turns=tuple(turns))


def test_turn_numbers_counts_calls_and_replies_and_flattens_facts():
    one = rollout({"at": [2, 5], "won": False, "open": True}, {"at": [3, 5], "won": True, "open": False})
    ids = [turn.stop - turn.start for turn in one.turns]
    facts = {"at_0": 2.0, "at_1": 5.0, "open": 1.0}
    assert turn_numbers(one) == [
        {"turn": 0.0, "calls": 0.0, "ok": 0.0, "failed": 0.0, "tokens": 0.0, **facts},
        {"turn": 1.0, "calls": 1.0, "ok": 1.0, "failed": 0.0, "tokens": ids[0], **facts},
        {
            "turn": 2.0,
            "calls": 2.0,
            "ok": 1.0,
            "failed": 1.0,
            "tokens": sum(ids),
            "at_0": 3.0,
            "at_1": 5.0,
            "open": 0.0,
        },
    ]


@pytest.mark.parametrize(
    "name", ["reward", "progress", "success", "won", "done", "score", "two words", "9", 'x"]', "turn_", "calls"]
)
def test_turn_numbers_reads_no_result_no_odd_name_and_keeps_its_counts(name):
    rows = turn_numbers(rollout({name: 7.0}))
    assert (name in rows[1] and rows[1][name] == 7.0) == (name == "turn_")
    assert rows[1]["calls"] == 1.0


@pytest.mark.parametrize("value", ["text", None, {"a": 1}, float("nan"), float("inf"), 10**400, ["text", None]])
def test_turn_numbers_reads_finite_numbers_alone(value):
    assert "fact" not in turn_numbers(rollout({"fact": value}))[1]


def test_turn_numbers_marks_a_missing_number():
    rows = turn_numbers(rollout({"key": [4]}, {"key": None}))
    assert [row["key_0"] for row in rows] == [4.0, 4.0, -1.0]


def test_turn_numbers_of_a_rollout_without_turns_is_one_row():
    assert turn_numbers(replace(rollout({}), turns=())) == [
        dict.fromkeys(("turn", "calls", "ok", "failed", "tokens"), 0.0)
    ]


def test_common_names_are_those_of_every_rollout():
    counts = ("calls", "failed", "ok", "tokens", "turn")
    assert common_names([rollout({"at": [1]}), rollout({"at": [1, 2]})]) == ("at_0", *counts)
    assert set(common_names([])) == set(counts)


def test_seen_values_are_distinct_and_ascending():
    found = seen_values([rollout({"at": [4]}), rollout({"at": [1]}), rollout({"at": [4]})])
    assert found["at_0"] == (1.0, 4.0) and found["turn"] == (0.0, 1.0)
    assert seen_values([]) == {}
