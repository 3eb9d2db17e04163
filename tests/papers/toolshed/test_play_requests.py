import json

import pytest

from handaxe.core.records import ToolReply
from handaxe.papers.toolshed.play_requests import play_request
from handaxe.worlds.toolbox.catalogue import ToolEntry, stub_value
from handaxe.worlds.toolbox.held_tools import ToolStore
from handaxe.worlds.toolbox.labelled_requests import LabelledRequest

pytest.importorskip("bfcl_eval")

from handaxe.worlds.toolbox.questions import make_step  # noqa: E402

STEPS = (
    make_step("one", "one", "", {"a": [1]}, {"a": 1}, "?"),
    make_step("two", "two", "", {"b": [2]}, {"b": 2}, "?"),
)
REQUEST = LabelledRequest("r", "one and two", STEPS)


def entry(name, parameter):
    parameters = {"type": "dict", "properties": {parameter: {"type": "integer"}}, "required": [parameter]}
    document = {"name": name, "description": name, "parameters": parameters}
    return ToolEntry(name, name, document, "", "", json.dumps(document))


ENTRIES = {"one": entry("one", "a"), "two": entry("two", "b"), "other": entry("other", "a")}


def store(ranking):
    def call(name, arguments):
        return ToolReply("0", name, str(stub_value(name, arguments)), "ok")

    return ToolStore(lambda query, count: ranking[:count], lambda name: ENTRIES[name].shown, call, ENTRIES.get)


def play(ranking, count, scores=lambda text, names: [name != "other" for name in names]):
    return play_request(store(ranking), REQUEST, parts=["one", "two"], scores=scores, count=count)


def test_agent_makes_the_steps_of_retrieved_tools():
    assert play(["one", "two"], 2).made == 1.0
    assert play(["one", "two"], 1).made == 0.5
    assert play(["other"], 1).made == 0.0


def test_scores_choose_among_tools_that_take_the_arguments():
    assert play(["other", "one", "two"], 3).made == 1.0
    assert play(["other", "one", "two"], 3, lambda text, names: [name == "other" for name in names]).made == 0.5


def test_more_tools_are_more_tokens():
    assert play(["one", "two", "other"], 3).read > play(["one", "two", "other"], 2).read > 0
