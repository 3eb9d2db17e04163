import importlib.util

import pytest

from handaxe.core.errors import InputError, TaskError
from handaxe.core.records import ToolSchema
from handaxe.worlds.bfcl import package as bfcl_package
from handaxe.worlds.bfcl.package import parse_call, tool_schema
from handaxe.worlds.bfcl.world import bfcl


def test_a_description_becomes_a_json_schema():
    described = {
        "name": "math.sqrt",
        "description": "Root.",
        "parameters": {
            "type": "dict",
            "properties": {"x": {"type": "float"}, "type": {"type": "tuple", "items": {"type": "any"}}},
            "required": ["x"],
        },
    }
    found = tool_schema(described)
    assert found == ToolSchema(
        "math_sqrt",
        "Root.",
        {
            "type": "object",
            "properties": {"x": {"type": "number"}, "type": {"type": "array", "items": {"type": "string"}}},
            "required": ["x"],
        },
    )


def test_calls_are_parsed_as_data():
    places = {"sort": ["file_name"], "f": ["a", "b"]}
    assert parse_call("sort('a.txt')", places) == {"name": "sort", "arguments": {"file_name": "a.txt"}}
    assert parse_call("f(1, b=[True, -2.5])", places) == {"name": "f", "arguments": {"a": 1, "b": [True, -2.5]}}
    for wrong in ("sort(f(1))", "g(1)", "sort", "sort('a', 'b')", "f(*[1])", "a.sort('x')", "sort(", "f(**{'a': 1})"):
        with pytest.raises(TaskError, match="cannot be read"):
            parse_call(wrong, places)


def test_the_missing_package_is_named(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    bfcl_package._folder.cache_clear()
    try:
        with pytest.raises(InputError, match="pip install --no-deps bfcl-eval"):
            bfcl_package.read_questions("multiple")
    finally:
        bfcl_package._folder.cache_clear()


def test_the_world_is_created_without_the_package():
    assert bfcl(category=("short",)).name == "bfcl"
