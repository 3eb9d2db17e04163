import json

import pytest

from handaxe.core.errors import InputError, Retry
from handaxe.core.records import ToolCall, ToolReply
from handaxe.worlds.toolbox.catalogue import ToolEntry
from handaxe.worlds.toolbox.held_tools import HeldBox, ToolMemory, ToolStore, fitting_tools

pytest.importorskip("bfcl_eval")

from handaxe.worlds.toolbox.questions import make_step  # noqa: E402


def entry(name):
    document = {
        "name": name,
        "description": name,
        "parameters": {"type": "dict", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
    }
    return ToolEntry(name, name, document, "", "", json.dumps(document))


ENTRIES = {name: entry(name) for name in ("one", "two", "three")}
STEP = make_step("one", "one", "", {"a": [1]}, {"a": 1}, "?")


def store(gone=()):
    def call(name, arguments):
        status = "invalid" if name in gone else "ok"
        return ToolReply("0", name, f"{name} {dict(arguments)}", status)

    return ToolStore(lambda query, count: query.split()[:count], lambda name: ENTRIES[name].shown, call, ENTRIES.get)


def call(method, **arguments):
    return method.run(ToolCall(method.schema.name, arguments, "c0"))


def test_tools_can_be_called_while_they_are_held():
    memory = ToolMemory()
    box = HeldBox(store(), memory, [STEP], results=2)
    assert call(box.call_tool, name="one", arguments={"a": 1}).status == "retry"
    listed = call(box.search_tools, queries=["one two three", "two"])
    assert [json.loads(line)["name"] for line in listed.content.splitlines()] == ["one", "two"]
    assert call(box.search_tools, queries=["one"]).content == "no new tools"
    assert call(box.call_tool, name="one", arguments={"a": 1}).content == str(STEP["value"])
    assert call(box.call_tool, name="two", arguments={"a": 1}).content == "two {'a': 1}"
    assert call(box.remove_tools, names=["one", "other"]).content == "removed 1, held 1"
    assert call(box.call_tool, name="one", arguments={"a": 1}).status == "retry"
    assert box.report() == {"made": [True], "calls": 4, "useful": 1, "held": ["two"], "added": 2, "removed": 1}


def test_memory_outlives_a_box_and_failed_calls_are_no_steps():
    memory = ToolMemory()
    memory.add(["one"])
    box = HeldBox(store(gone=("one",)), memory, [STEP])
    assert call(box.call_tool, name="one", arguments={"a": 1}).status == "retry"
    assert box.report()["made"] == [False] and memory.held == ("one",)


@pytest.mark.parametrize("queries", [[], [" "], ["x"] * 9, ["x" * 501]])
def test_bad_queries_are_answered(queries):
    assert call(HeldBox(store(), ToolMemory(), []).search_tools, queries=queries).status == "retry"


def test_limit_refuses_a_search_as_a_whole():
    memory = ToolMemory(2)
    assert memory.add(["a", "b", "a"]) == ("a", "b") and memory.add(["b"]) == ()
    with pytest.raises(Retry, match="2 tools are held and 1 would be added, the limit is 2"):
        memory.add(["b", "c"])
    assert memory.held == ("a", "b") and memory.remove(["a", "z"]) == ("a",)
    assert memory.add(["c"]) == ("c",) and memory.held == ("b", "c")
    assert (memory.added, memory.removed) == (3, 1)
    with pytest.raises(InputError, match="1 tool"):
        ToolMemory(0)


def test_fitting_tools_take_all_arguments_and_need_no_other():
    shown = {
        "area": {"parameters": {"properties": {"radius": {}}, "required": ["radius"]}},
        "volume": {"parameters": {"properties": {"radius": {}, "height": {}}, "required": ["radius", "height"]}},
        "loose": {"parameters": {"properties": {"radius": {}, "unit": {}}}},
    }
    assert fitting_tools(shown, {"radius": 1}) == ["area", "loose"]
    assert fitting_tools(shown, {"other": 1}) == []
