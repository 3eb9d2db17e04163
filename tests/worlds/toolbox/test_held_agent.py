import json

import numpy as np

from handaxe.worlds.toolbox.held_agent import HeldAgent, cosine_scores
from handaxe.worlds.toolbox.labelled_requests import LabelledRequest
from handaxe.worlds.toolbox.live_index import TextVectors


def line(name, *parameters):
    return json.dumps(
        {
            "name": name,
            "description": name,
            "parameters": {"properties": {one: {} for one in parameters}, "required": list(parameters)},
        }
    )


def facts(turn, reply=None, status="ok"):
    return {"turn": turn, "replies": [] if reply is None else [reply], "statuses": [] if reply is None else [status]}


def said(message):
    return [(call.name, dict(call.arguments)) for call in message.calls] or message.content


REQUEST = LabelledRequest(
    "r", "area, please", ({"name": "circle", "arguments": {"radius": 3}}, {"name": "sum", "arguments": {"a": 1}})
)


def agent(**options):
    settings = {
        "queries": ["area"],
        "texts": ["area"],
        "scores": lambda texts, tools: [len(one["name"]) for one in tools],
    }
    return HeldAgent(REQUEST, **{**settings, **options})


def test_agent_searches_calls_and_skips_steps_without_a_tool():
    speak = agent().speak
    assert said(speak(None, facts(0))) == [("search_tools", {"queries": ["area"]})]
    found = "\n".join([line("ab", "radius"), line("abc", "radius"), line("wide", "radius", "height")])
    assert said(speak(None, facts(1, found))) == [("call_tool", {"name": "abc", "arguments": {"radius": 3}})]
    assert said(speak(None, facts(2, "1234"))) == "done"


def test_failed_calls_lead_to_the_next_tool_and_to_further_searches():
    speak = agent(searches=2).speak
    speak(None, facts(0))
    speak(None, facts(1, "\n".join([line("ab", "radius"), line("abc", "radius")])))
    assert said(speak(None, facts(2, "no", "retry"))) == [("call_tool", {"name": "ab", "arguments": {"radius": 3}})]
    assert said(speak(None, facts(3, "no", "retry"))) == [("search_tools", {"queries": ["radius"]})]
    assert said(speak(None, facts(4, line("a", "radius")))) == [
        ("call_tool", {"name": "a", "arguments": {"radius": 3}})
    ]
    assert said(speak(None, facts(5, "9", "ok"))) == [("search_tools", {"queries": ["a"]})]
    assert said(speak(None, facts(6, "no new tools"))) == [("search_tools", {"queries": ["area, please a"]})]
    assert said(speak(None, facts(7, "no new tools"))) == "done"


def test_used_tools_come_last_and_known_tools_need_no_search():
    request = LabelledRequest("r", "?", ({"name": "x", "arguments": {"a": 1}}, {"name": "y", "arguments": {"a": 2}}))
    known = [line("long", "a"), line("s", "a")]
    speak = HeldAgent(request, queries=(), texts=["?"], scores=agent()._scores, known=known).speak
    assert said(speak(None, facts(0))) == [("call_tool", {"name": "long", "arguments": {"a": 1}})]
    assert said(speak(None, facts(1, "5"))) == [("call_tool", {"name": "s", "arguments": {"a": 2}})]


def test_scores_are_the_highest_cosine_of_any_text():
    known = {"x": [1.0, 0.0], "y": [0.0, 1.0], "area circle. d": [0.6, 0.8]}
    vectors = TextVectors(lambda texts: np.array([known[text] for text in texts]))
    assert cosine_scores(vectors)(["x", "y"], [{"name": "area_circle", "description": "d"}]) == [0.8]
