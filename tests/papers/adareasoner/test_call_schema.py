from dataclasses import replace

import numpy as np
import pytest

from handaxe.core.records import ToolCall, ToolReply, ToolSchema
from handaxe.evaluation.attack_trials import LabCase
from handaxe.papers.adareasoner.call_schema import call_schema
from handaxe.testing.make_records import make_group, make_task, make_trajectory
from handaxe.worlds.calls import calls

LAB = [
    LabCase("call_schema()", calls, lambda world: call_schema()),
]


NUMBER = {"type": "integer"}
F = ToolSchema(
    "f", "Two numbers.", {"type": "object", "properties": {"x": NUMBER, "y": NUMBER}, "required": ["x", "y"]}
)
KIND = {"type": "string", "enum": ["a", "b"]}
LOOSE = ToolSchema(
    "loose", "", {"type": "object", "properties": {"kind": KIND, "size": {"type": ["number", "null"]}, "any": {}}}
)
BARE = ToolSchema("bare", "", {"type": "object"})
CALL = {4.0: ToolCall("f", {"x": 1, "y": 2}), 3.0: ToolCall("f", {"x": 1}), 1.0: ToolCall("g", {"x": 1})}


def attempt(*turns, errors=None, statuses=()):
    """Each turn a list of calls, answered ok where `statuses` says nothing else, by place."""
    said = dict(statuses)
    replies = [
        [ToolReply(f"{n}-{k}", call.name, "", said.get((n, k), "ok")) for k, call in enumerate(calls)]
        for n, calls in enumerate(turns)
    ]
    made = make_trajectory(calls=turns, replies=replies, errors=errors)
    return replace(made, tools=(F, LOOSE, BARE))


def scored(*attempts):
    return call_schema()(make_group(trajectories=attempts))


SIBLINGS = make_group(
    task=make_task(answer="4"), trajectories=[attempt([CALL[4.0]], []), attempt([CALL[3.0]], []), attempt([])]
)


def test_call_schema_matches_its_example():
    fit, two = [CALL[4.0]], [ToolCall("f", {"p": 1, "q": 2})]  # the second scores 1 + 1 + 0 / 4 + 0 / 4
    scores = scored(attempt(fit, two, []), attempt(fit, [], two), attempt([], []))
    assert scores.outcome.tolist() == [3, 2, 0]
    assert [turns.tolist() for turns in scores.turn_channels["call_schema"]] == [[4, 2, 0], [4, 0, 2], [0, 0]]
    calls = [CALL[3.0], ToolCall("f", {"x": 1, "y": "a"}), ToolCall("f", {"x": 1, "z": 2}), CALL[1.0]]
    wanted = [3.0, 3.5, 2 + 2 / 3, 1.0]
    assert scored(*(attempt([call]) for call in calls)).outcome.tolist() == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("arguments", "score"),
    [
        ({"kind": "a", "size": 1.5, "any": [1]}, 4.0),
        ({"kind": "c"}, 3.0),
        ({"size": None, "any": None}, 4.0),
        ({"size": True}, 3.0),
        ({"size": "1"}, 3.0),
        ({}, 4.0),
    ],
)
def test_values_of_wrong_type_or_outside_an_enum_do_not_fit(arguments, score):
    assert scored(attempt([ToolCall("loose", arguments)])).outcome[0] == score


def test_nested_values_must_fit_at_every_depth():
    parameters = {
        "type": "object",
        "properties": {
            "size": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            "spans": {"type": "array", "items": {"type": "integer"}},
        },
    }
    deep = ToolSchema("deep", "", parameters)
    for arguments, score in (
        ({"size": 1, "spans": [1, 2]}, 4.0),
        ({"size": None, "spans": []}, 4.0),
        ({"size": "no", "spans": [1]}, 3.5),
        ({"size": "no", "spans": ["a"]}, 3.0),
    ):
        one = replace(attempt([ToolCall("deep", arguments)]), tools=(deep,))
        assert scored(one).outcome[0] == score, arguments


def test_whole_floats_are_integers_and_calls_without_parameters_score_4():
    assert scored(attempt([ToolCall("f", {"x": 1.0, "y": 2})])).outcome[0] == 4
    assert scored(attempt([ToolCall("f", {"x": 1.5, "y": True})])).outcome[0] == 3
    assert scored(attempt([ToolCall("bare", {})])).outcome[0] == 4
    assert scored(attempt([ToolCall("bare", {"x": 1})])).outcome[0] == 2


@pytest.mark.parametrize(("status", "score"), [("ok", 4), ("retry", 3), ("failed", 3), ("timeout", 4)])
def test_a_rejected_call_has_no_accepted_value(status, score):
    assert scored(attempt([CALL[4.0]], statuses={(0, 0): status})).outcome[0] == score


def test_malformed_calls_count_in_the_mean_of_a_turn():
    assert scored(attempt([], [], errors=[["not JSON"], []])).outcome[0] == 0
    assert scored(attempt([CALL[4.0], CALL[1.0]], [])).outcome[0] == 2.5
    assert scored(attempt([CALL[4.0]], [], errors=[["not JSON"], []])).outcome[0] == 2


def test_call_schema_matches_a_slow_count():
    rng = np.random.default_rng(0)
    for _ in range(30):
        turns = [float(rng.choice([0.0, 1.0, 3.0, 4.0])) for _ in range(rng.integers(1, 6))]
        kept = list(turns)
        while kept and kept[-1] == 0:
            kept.pop()
        one = attempt(*([CALL[value]] if value else [] for value in turns))
        assert scored(one).outcome[0] == pytest.approx(np.mean(kept) if kept else 0.0)


def test_a_trajectory_without_turns_scores_0():
    scores = scored(replace(make_trajectory(layouts=["UUt"]), tools=(F,)), attempt([CALL[4.0]]))
    assert scores.outcome.tolist() == [0, 4] and len(scores.turn_channels["call_schema"][0]) == 0
