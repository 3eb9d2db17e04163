import pytest

from handaxe.core.errors import InputError, TaskError
from handaxe.core.protocols import Bounded
from handaxe.core.records import ParsedTurn, ToolCall
from handaxe.envs.by_task import by_task
from handaxe.envs.tool_chat import tool_chat
from handaxe.envs.tool_choice import tool_choice
from handaxe.testing.records import make_task
from handaxe.tools.calculator import calculator


def test_each_task_has_the_environment_of_its_kind():
    factory = by_task("part", {"sums": tool_chat([calculator]), "words": tool_choice([])})
    sums, words = (factory(make_task(metadata={"part": part})) for part in ("sums", "words"))
    turn = ParsedTurn("", (ToolCall("calculator", {"expression": "2*3"}, "c"),))
    assert [tool.name for tool in sums.start()[1]] == ["calculator"] and words.start()[1] == ()
    assert sums.step(turn, seed=0).replies[0].content == "6" and words.step(turn, seed=0).done
    assert sums.report()["replies"] == {"ok": 1} and words.report() == {}


def test_the_least_bound_holds():
    free, bound, tight = (tool_chat([]) for _ in range(3))
    bound.most, tight.most = 5, 3
    assert not isinstance(by_task("part", {"a": free}), Bounded)
    assert by_task("part", {"a": free, "b": bound, "c": tight}).most == 3


def test_what_does_not_fit():
    with pytest.raises(InputError, match="no environments"):
        by_task("part", {})
    factory = by_task("part", {"b": tool_chat([]), "a": tool_chat([])})
    for metadata in ({}, {"part": "c"}):
        with pytest.raises(TaskError, match="there are environments for a, b"):
            factory(make_task(metadata=metadata))
