from dataclasses import replace

import pytest

pytest.importorskip("bfcl_eval")
pytest.importorskip("bm25s")

from handaxe.core.errors import InputError
from handaxe.core.records import Group
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.qta.split_requests import split_requests
from handaxe.papers.qta.tool_index import tool_index
from handaxe.papers.qta.tool_queries import rewritten, tool_queries
from handaxe.testing.make_records import make_trajectory
from handaxe.worlds.parts.demonstrate import demonstrate


def rollout(task, text):
    return replace(make_trajectory(texts=[text]), task=task)


@pytest.fixture(scope="module", params=[True, False], ids=["brief", "words"])
def world(request):
    return tool_queries(brief=request.param)


def test_expert_names_all_needed_tools(world):
    env = world.env(world.tools)
    for task in world.tasks("test", 12, 0):
        one = demonstrate(env, task, world.expert, format=Compact(), max_turns=1)
        assert world.correct(Group(task, (one,))).outcome[0] == 1
        gain = world.gauges["gain"].top(one, 1.0)
        assert gain == 1 - world.gauges["raw"].top(one, 1.0) and world.gauges["sufficiency_10"].top(one, 1.0) == 1
        assert 0 < world.gauges["ndcg_5"].top(one, 1.0) <= 1


def test_unsure_expert_names_a_tool_of_the_simulator_of_the_first_one(world):
    known = tool_index()
    drawn = set()
    for task in world.tasks("train", 200, 0):
        facts = {"turn": 0, "tools": [], "sure": False}
        reply = world.expert(task, facts).content
        names = known.numbers if task.metadata["brief"] else known.words
        assert reply in {names[name] for name in known.mates(task.metadata["first"])}
        drawn.add((task.metadata["request"], reply))
    assert len(drawn) > 100  # a repeated request has several replies


def test_rewritten_query_adds_named_tools_alone():
    brief, words = (tool_queries(brief=flag).tasks("train", 1, 0)[0] for flag in (True, False))
    text, number = brief.metadata["text"], tool_index().numbers["pressBrakePedal"]
    assert rewritten(rollout(brief, f" {number} ")) == f"{text} press brake pedal"
    assert rewritten(rollout(brief, "no number 12")) == rewritten(rollout(brief, "-")) == text
    assert rewritten(rollout(words, "press brake")) == f"{text} press brake"
    assert rewritten(rollout(words, "x" * 900)) == f"{text} {'x' * 200}"
    assert rewritten(rollout(words, "-")) == rewritten(rollout(words, "")) == text


def test_a_small_test_split_is_not_repeated():
    assert len(tool_queries().tasks("test", 400, 0)) == len(split_requests("test"))
    assert len(tool_queries().tasks("train", 400, 0)) == 400
    with pytest.raises(InputError, match="train or test"):
        tool_queries().tasks("dev", 1, 0)
