import asyncio
import subprocess
import sys

import pytest

from handaxe.core.errors import Failed, InputError, Retry, ToolDefinitionError
from handaxe.core.records import ToolCall, ToolSchema
from handaxe.envs.tool_chat import tool_chat
from handaxe.tools.thread_pool import Limit
from handaxe.tools.tool_from_schema import tool_from_schema


def run(tool, arguments):
    reply = tool.run(ToolCall(tool.schema.name, arguments, "c7"), seed=5)
    return reply.status, reply.content


def make_tool(properties, carry=lambda given, context: str(given), **more):
    schema = {"type": "object", "properties": properties, **more}
    return tool_from_schema(ToolSchema("shout", "Say it loud.", schema), carry)


def test_tool_from_schema_gives_the_example():
    shout = tool_from_schema(ToolSchema("shout", "Say it loud.", {"type": "object"}), lambda given, context: "HEY")
    assert run(shout, {}) == ("ok", "HEY")
    assert shout.schema == ToolSchema("shout", "Say it loud.", {"type": "object"})


def test_handlers_get_arguments_and_context():
    async def later(given, context):
        await asyncio.sleep(0)
        return f"{given} {context.call_id} {context.seed}"

    assert run(make_tool({}, later), {"n": 1}) == ("ok", "{'n': 1} c7 5")
    assert run(make_tool({}, lambda g, c: f"{g} {c.call_id} {c.seed}"), {"n": 1}) == ("ok", "{'n': 1} c7 5")


def test_exceptions_become_statuses():
    def carry(given, context):
        raise {"again": Retry, "never": Failed, "crash": KeyError}[given["how"]]("why")

    tool = make_tool({"how": {"type": "string"}}, carry)
    assert run(tool, {"how": "again"}) == ("retry", "why")
    assert run(tool, {"how": "never"}) == ("failed", "why")
    assert run(tool, {"how": "crash"})[0] == "infra_error"


def test_arguments_are_validated_before_the_handler_runs():
    seen = []
    tool = make_tool(
        {"n": {"type": "integer", "minimum": 2}, "where": {"type": "object", "properties": {"x": {"type": "number"}}}},
        lambda given, context: seen.append(given) or "ok",
        required=["n"],
        additionalProperties=False,
    )
    assert run(tool, {}) == ("invalid", "invalid arguments for shout: arguments: 'n' is a required property")
    assert "n: 1 is less than the minimum of 2" in run(tool, {"n": 1})[1]
    assert "where.x: 'a' is not of type 'number'" in run(tool, {"n": 2, "where": {"x": "a"}})[1]
    assert "'m' was unexpected" in run(tool, {"n": 2, "m": {}})[1]
    assert seen == []
    assert run(tool, {"n": 2, "where": {"x": 1.5}}) == ("ok", "ok")
    assert seen == [{"n": 2, "where": {"x": 1.5}}]


def test_at_most_five_errors_are_reported():
    tool = make_tool({f"p{k}": {"type": "integer"} for k in range(20)})
    assert run(tool, {f"p{k}": "x" for k in range(20)})[1].count("is not of type") == 5


def test_regular_expressions_are_skipped():
    bomb = {"a": {"type": "string", "pattern": "^(a+)+$"}, "pattern": {"type": "integer"}}
    tool = make_tool(bomb, patternProperties={"^(b+)+$": {"type": "integer"}}, additionalProperties=False)
    assert run(tool, {"a": "a" * 60 + "!", "b" * 60 + "!": 1})[0] == "ok"
    assert run(tool, {"pattern": "a property of that name is checked"})[0] == "invalid"


def test_doubling_references_are_bounded():
    """In a process of its own, which is killed where they do not: there are 2**60 ways to follow them."""
    code = (
        "from handaxe.core.records import ToolCall, ToolSchema\n"
        "from handaxe.tools.tool_from_schema import tool_from_schema\n"
        "doubling = {f'd{i}': {'anyOf': [{'$ref': f'#/$defs/d{i + 1}'}] * 2} for i in range(60)}\n"
        "defs = {**doubling, 'd60': {'type': 'null'}}\n"
        "schema = {'type': 'object', 'properties': {'a': {'$ref': '#/$defs/d0'}}, '$defs': defs}\n"
        "tool = tool_from_schema(ToolSchema('shout', '', schema), lambda given, context: 'HEY')\n"
        "print(tool.run(ToolCall('shout', {'a': 1})).status)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "ok\n", done.stderr


def test_references_are_resolved_inside_the_schema_only():
    assert run(make_tool({"a": {"$ref": "http://127.0.0.1:9/schema"}}), {"a": 1})[0] == "ok"
    inside = {"$defs": {"whole": {"type": "integer"}}}
    assert run(make_tool({"a": {"$ref": "#/$defs/whole"}}, **inside), {"a": "x"})[0] == "invalid"


@pytest.mark.parametrize("name", ["a.b", "", "7up", "n" * 65, "<|im_end|>"])
def test_invalid_name_raises(name):
    with pytest.raises(ToolDefinitionError, match="is no tool name"):
        tool_from_schema(ToolSchema(name, "", {"type": "object"}), lambda given, context: "")


@pytest.mark.parametrize("schema", [{"type": "array"}, {"properties": 3}, {"type": "object", "required": "a"}])
def test_invalid_schema_raises(schema):
    with pytest.raises(ToolDefinitionError, match="not a JSON schema"):
        tool_from_schema(ToolSchema("a", "", schema), lambda given, context: "")


def test_limit_is_shared_and_failed_calls_are_retried():
    seen, one = [], Limit(3)

    def carry(given, context):
        seen.append(context.call_id)
        if len(seen) < 3:
            raise OSError("gone")
        return "there"

    schema = ToolSchema("a", "A.", {"type": "object"})
    first, second = (tool_from_schema(schema, carry, limit=one, retries=2) for _ in range(2))
    assert first.limit is second.limit is one
    assert run(first, {}) == ("ok", "there") and seen == ["c7"] * 3
    assert tool_from_schema(schema, carry, limit=2).limit.count == 2 and tool_from_schema(schema, carry).limit is None
    for wrong in ({"limit": 0}, {"retries": -1}):
        with pytest.raises(InputError):
            tool_from_schema(schema, carry, **wrong)


def test_owner_is_closed_with_the_environment():
    class Owner:
        closed = 0

        def close(self):
            self.closed += 1

    owners = []

    def factory():
        owners.append(Owner())
        schema = ToolSchema("a", "A.", {"type": "object"})
        return [tool_from_schema(schema, lambda given, context: "", owner=owners[-1])]

    tool_chat([factory])
    assert [owner.closed for owner in owners] == [1]
    with pytest.raises(ToolDefinitionError, match="would leak"):
        tool_chat(factory())
