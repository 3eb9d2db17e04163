import pytest

from handaxe.core.errors import InputError, TaskError
from handaxe.core.protocols import Bounded
from handaxe.core.records import ParsedTurn, ToolCall
from handaxe.envs.task_router import task_router
from handaxe.envs.tool_chat import tool_chat
from handaxe.envs.tool_choice import tool_choice
from handaxe.testing.make_records import make_task
from handaxe.tools.calculator import calculator


def test_task_router_chooses_by_metadata():
    factory = task_router("part", {"sums": tool_chat([calculator]), "words": tool_choice([])})
    sums, words = (factory(make_task(metadata={"part": part})) for part in ("sums", "words"))
    turn = ParsedTurn("", (ToolCall("calculator", {"expression": "2*3"}, "c"),))
    assert [tool.name for tool in sums.start()[1]] == ["calculator"] and words.start()[1] == ()
    assert sums.step(turn, seed=0).replies[0].content == "6" and words.step(turn, seed=0).done
    assert sums.report()["replies"] == {"ok": 1} and words.report() == {}


def test_task_router_has_the_smallest_bound():
    free, bound, tight = (tool_chat([]) for _ in range(3))
    bound.most, tight.most = 5, 3
    assert not isinstance(task_router("part", {"a": free}), Bounded)
    assert task_router("part", {"a": free, "b": bound, "c": tight}).most == 3


def test_empty_table_and_unknown_kind_raise():
    with pytest.raises(InputError, match="no environments"):
        task_router("part", {})
    factory = task_router("part", {"b": tool_chat([]), "a": tool_chat([])})
    for metadata in ({}, {"part": "c"}):
        with pytest.raises(TaskError, match="there are environments for a, b"):
            factory(make_task(metadata=metadata))
