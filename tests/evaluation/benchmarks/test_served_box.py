"""The client of a tool box, over tools without a server."""

import pytest

from handaxe.core.errors import InfrastructureError
from handaxe.core.records import ToolCall, ToolSchema
from handaxe.evaluation.benchmarks.served_box import ServedBox
from handaxe.tools.tool_owners import collect_tools
from handaxe.worlds.toolbox.box import BriefBox

pytest.importorskip("jsonschema")
from handaxe.tools.tool_from_schema import tool_from_schema  # noqa: E402


class Owner:
    closed = 0

    def close(self):
        self.closed += 1


LOCAL = {one.schema.name: one.schema for one in (BriefBox.find_tools, BriefBox.call_tool)}
NAMES = (*LOCAL, "open_task", "read_state")


def session(state="", *, names=NAMES, owner=None, schemas=LOCAL):
    """Tools that answer with a text, or with their arguments."""
    owner = owner or Owner()

    async def carry(given, context):
        return state or str(given)

    return [
        tool_from_schema(schemas.get(name) or ToolSchema(name, "", {"type": "object"}), carry, owner=owner)
        for name in names
    ]


def served(*given, **named):
    return ServedBox(session(*given, **named), BriefBox)


def test_state_is_read_from_the_server():
    box = served('{"found": [true, false], "made": [false, false]}')
    box.open([{"name": "a"}, {"name": "b"}])
    assert box.report() == {"found": [False, False], "made": [False, False]}
    box.read()
    assert box.report() == {"found": [True, False], "made": [False, False]}


@pytest.mark.parametrize("state", ["", "[]", "7", '{"found": [true]}', '{"found": [1], "made": [1]}', '{"found": 1}'])
def test_any_other_state_is_a_failure_of_the_infrastructure(state):
    box = served(state)
    box.open([{"name": "a"}])
    with pytest.raises(InfrastructureError, match="sent no state of 1 steps"):
        box.read()


def test_a_check_of_the_tools_does_not_end_the_session():
    owner = Owner()
    box = served(owner=owner)
    made = collect_tools(box.offered)
    assert [one.schema.name for one in made] == ["find_tools", "call_tool"]
    assert all(one.owner is box for one in made) and not hasattr(box, "close") and not owner.closed
    box.end()
    assert owner.closed == 1


def test_arguments_are_checked_as_in_this_process():
    find, call = served().offered
    assert find.run(ToolCall("find_tools", {"query": "7"})).content == "{'query': '7'}"
    for wrong in ({}, {"query": 7}, {"query": "7", "more": 1}):
        found = find.run(ToolCall("find_tools", wrong, "a"))
        local = BriefBox(None, (), results=1).find_tools.run(ToolCall("find_tools", wrong, "a"))
        assert (found.status, found.content) == (local.status, local.content) and found.status == "invalid"
    assert call.run(ToolCall("call_tool", {"name": "a", "arguments": "b"})).status == "invalid"


def test_a_server_with_other_tools_is_refused_and_closed():
    owner = Owner()
    with pytest.raises(InfrastructureError, match=r"no tools \['read_state', 'call_tool'\]"):
        served(names=("find_tools", "open_task"), owner=owner)
    assert owner.closed == 1
    other = {**LOCAL, "find_tools": ToolSchema("find_tools", "Something else.", {"type": "object"})}
    with pytest.raises(InfrastructureError, match=r"no tools \['find_tools'\]"):
        served(schemas=other)
