"""Tool boxes that a client gives a task."""

import json

import pytest

from handaxe.core.records import ToolCall
from handaxe.evaluation.benchmarks.company_server import BriefServer
from handaxe.worlds.toolbox.world import toolbox

for package in ("bfcl_eval", "bm25s", "jsonschema"):
    pytest.importorskip(package)


def test_steps_of_the_task_decide_the_state():
    (task,) = toolbox(lengths=(1,)).tasks("test", 1, 0)
    (step,) = task.metadata["steps"]
    box = BriefServer()
    assert box.open_task.run(ToolCall("open_task", {"steps": json.dumps([step])})).content == "1 steps"
    box.find_tools.run(ToolCall("find_tools", {"query": step["query"]}))
    assert json.loads(box.read_state.run(ToolCall("read_state", {})).content) == {"found": [True], "made": [False]}
    call = ToolCall("call_tool", {"name": step["name"], "arguments": step["arguments"]})
    assert box.call_tool.run(call).content == str(step["value"])
    assert box.report() == {"found": [True], "made": [True]}
    box.open_task.run(ToolCall("open_task", {"steps": json.dumps([step, step])}))
    assert box.report() == {"found": [False, False], "made": [False, False]}


def test_steps_that_are_no_list_are_refused():
    reply = BriefServer().open_task.run(ToolCall("open_task", {"steps": "{}"}))
    assert reply.status == "retry" and "no JSON list" in reply.content
