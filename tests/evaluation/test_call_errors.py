"""Minimal errors of a call: one change each, by kind."""

import numpy as np
import pytest

from handaxe.core.records import ToolCall
from handaxe.evaluation.call_errors import KINDS, CallSource, call_errors

OWN = {"base": {"type": "integer"}, "height": {"type": "integer"}, "unit": {"type": "string", "enum": ["cm", "m"]}}
SOURCE = CallSource(OWN, {"circle": {"radius": {"type": "float"}, "base": {"type": "integer"}}}, ("Paris", "Rome"))
RIGHT = ToolCall("area", {"base": 10, "height": 5, "unit": "cm"})


def errors(call=RIGHT, source=SOURCE, seed=0):
    return {kind: list(made) for kind, made in call_errors(call, source, np.random.default_rng(seed)).items()}


def test_every_kind_changes_one_thing():
    found = errors()
    assert tuple(found) == KINDS and all(found.values())
    assert all(one != RIGHT for made in found.values() for one in made)
    assert found["function"] == [ToolCall("circle", RIGHT.arguments)]
    for one in found["name"]:
        assert list(one.arguments.values()) == [10, 5, "cm"] and len(one.arguments.keys() & RIGHT.arguments.keys()) == 2
    for one in found["value"]:
        assert one.arguments.keys() == RIGHT.arguments.keys()
        assert [type(value) for value in one.arguments.values()] == [int, int, str]
    assert sorted(len(one.arguments) for one in found["missing"]) == [2, 2, 2]
    for one in found["extra"]:
        assert one.arguments.items() > RIGHT.arguments.items() and set(one.arguments) - set(OWN) == {"radius"}
    assert {one.name for kind in KINDS[1:] for one in found[kind]} == {"area"}


def test_values_are_exchanged_near_or_of_the_enumeration():
    made = [one.arguments for one in errors()["value"]]
    assert {"base": 5, "height": 10, "unit": "cm"} in made and {**RIGHT.arguments, "unit": "m"} in made
    assert {one["height"] for one in made if one["base"] == 10} <= {5, 4, 6, 3, 7, 2, 8, 15}


@pytest.mark.parametrize(
    "value, others",
    [
        (True, [False]),
        ([1, True], [[1, False]]),
        ({"at": True}, [{"at": False}]),
        ("2024-05-09", ["2024-05-08", "Paris"]),
        (1.5, [2.5, 0.5]),
    ],
)
def test_other_values_keep_the_type(value, others):
    call = ToolCall("f", {"x": value})
    made = [one.arguments["x"] for one in errors(call, CallSource({"x": {}}, {}, ("Paris",)))["value"]]
    assert all(one in made for one in others)
    assert all(type(one) is type(value) and one != value for one in made)


def test_what_cannot_be_made_is_empty():
    found = errors(ToolCall("f", {}), CallSource({}, {}, ()))
    assert found == {kind: [] for kind in KINDS}
    assert errors(ToolCall("f", {"x": 1}), CallSource({"x": {}}, {}, ()))["missing"] == [ToolCall("f", {})]


def test_equal_seeds_give_equal_errors():
    assert errors(seed=3) == errors(seed=3) and any(errors(seed=3) != errors(seed=k) for k in range(4, 8))
