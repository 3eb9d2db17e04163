import json

import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Message, Task
from handaxe.papers.mcp_company.search_agent import _listed, query_words, search_agent

STEPS = [
    {"query": "area of a circle with radius 3", "arguments": {"radius": 3}, "value": 1111},
    {"query": "half of the area", "arguments": {"area": 1111}, "value": 2222},
]
TASK = Task("t", (Message("user", "?"),), "2222", metadata={"steps": STEPS})
TOOLS = ["find_tools", "call_tool"]


def shown(name, required, known=()):
    properties = {one: {} for one in (*required, *known)}
    return json.dumps({"name": name, "parameters": {"properties": properties, "required": list(required)}})


def facts(*replies, status="ok", tools=TOOLS):
    return {"tools": tools, "replies": list(replies), "statuses": [status] * len(replies)}


def said(message):
    return [(call.name, dict(call.arguments)) for call in message.calls] or message.content


def test_agent_searches_calls_and_passes_results_on():
    speak = search_agent()
    assert said(speak(TASK, facts())) == [("find_tools", {"query": STEPS[0]["query"]})]
    listed = "\n".join([shown("square", ["side"]), "no tool", shown("circle", ["radius"], ["unit"])])
    assert said(speak(TASK, facts(listed))) == [("call_tool", {"name": "circle", "arguments": {"radius": 3}})]
    assert said(speak(TASK, facts("7777")))[0][0] == "find_tools"
    halved = speak(TASK, facts(shown("half", ["area"])))
    assert said(halved) == [("call_tool", {"name": "half", "arguments": {"area": 7777}})]  # the reply, not 1111
    assert said(speak(TASK, facts("8888"))) == "8888"


def test_a_rejected_call_goes_to_the_next_result_and_then_to_another_search():
    speak = search_agent(share=0.5, searches=2)
    first = said(speak(TASK, facts()))
    speak(TASK, facts("\n".join([shown("one", ["radius"]), shown("two", ["radius"])])))
    assert said(speak(TASK, facts("bad", status="invalid")))[0][1]["name"] == "two"
    again = said(speak(TASK, facts("bad", status="invalid")))
    assert again[0][0] == "find_tools" and again != first
    assert said(speak(TASK, facts(shown("other", ["side"])))) == "0"


def test_agent_without_tools_answers():
    assert said(search_agent()(TASK, facts(tools=["call_tool"]))) == "0"


@pytest.mark.parametrize("share, count", [(1.0, 7), (0.5, 4), (0.01, 1)])
def test_query_words_keep_a_share_in_order(share, count):
    text = STEPS[0]["query"]
    drawn = query_words(text, share, seed=900).split()
    assert len(drawn) == count and query_words(text, share, seed=900).split() == drawn
    places = [text.split().index(word) for word in drawn]
    assert places == sorted(places)


def test_lines_that_are_no_tools_are_skipped():
    assert _listed('[1]\n{"name": "x"}\n{"name": "x", "parameters": []}\nnull') == []
    assert _listed(shown("a", ["b"], ["c"])) == [("a", {"b"}, {"b", "c"})]


@pytest.mark.parametrize("share, searches", [(0.0, 1), (1.1, 1), (0.5, 0)])
def test_arguments_out_of_range_raise(share, searches):
    with pytest.raises(InputError, match="share of words"):
        search_agent(share=share, searches=searches)
