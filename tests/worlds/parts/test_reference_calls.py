from handaxe.core.records import ToolCall
from handaxe.testing.make_records import make_task
from handaxe.worlds.parts.reference_calls import reference_calls


def test_reference_calls_are_read_from_metadata():
    task = make_task(metadata={"gold_calls": [{"name": "search", "arguments": {"query": "x"}}]})
    assert reference_calls(task) == (ToolCall("search", {"query": "x"}),)
