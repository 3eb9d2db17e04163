from dataclasses import replace

import pytest

from handaxe.core.records import ParsedTurn, ToolCall

pytest.importorskip("bfcl_eval")
pytest.importorskip("bm25s")

from handaxe.papers.mcp_company.gold_retrieval import gold_retrieval  # noqa: E402
from handaxe.worlds.toolbox.world import toolbox  # noqa: E402


def test_every_search_finds_the_tool_of_the_next_step():
    world = toolbox(lengths=(2,))
    (task,) = world.tasks("test", 1, 3)
    first, second = task.metadata["steps"]
    plain, gold = world.env(())(task), gold_retrieval(world.env(()))(task)
    turn = ParsedTurn("", (ToolCall("find_tools", {"query": "nothing at all"}, "0"),))
    call = ToolCall("call_tool", {"name": first["name"], "arguments": first["arguments"]}, "1")
    assert plain.start()[1] == gold.start()[1]
    assert plain.step(turn, seed=0).facts["found"] == [False, False]
    assert gold.step(turn, seed=0).facts["found"] == [True, False]
    assert gold.step(replace(turn, calls=(call,)), seed=0).facts["made"] == [True, False]
    assert gold.step(turn, seed=0).facts["found"] == [True, True]
    last = ToolCall("call_tool", {"name": second["name"], "arguments": second["arguments"]}, "2")
    assert gold.step(replace(turn, calls=(last,)), seed=0).facts["made"] == [True, True]
    refused = gold.step(turn, seed=0).replies[0]
    assert refused.status != "ok"  # no step is left, and no tool has these words
    plain.close()
    gold.close()
