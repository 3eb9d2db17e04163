import json

import pytest

from handaxe.core.records import Message, ParsedTurn, Sampling, Task
from handaxe.core.requests import AuxChat
from handaxe.models.chat_formats.compact import Compact
from handaxe.ops.ask_aux import NoReply
from handaxe.papers.deepagent.structured_memory import PARTS, CallEvent, ask_memory, memory_text, rule_memory

QUESTION = "5526 25, 1390 * 7"
EVENTS = [CallEvent("find_tools", "5526", "ok", "t417 a"), CallEvent("call_tool", "t417 25", "ok", "4071")]
TASK = Task("t", (Message("user", QUESTION),))


def test_the_rule_writes_the_oracle_of_the_docstring():
    assert rule_memory(QUESTION, EVENTS) == {
        "episodic": "t417 25 4071",
        "working": "1390 4071 7",
        "tool": "t417 a",
    }
    assert memory_text(rule_memory(QUESTION, EVENTS)) == "episodic t417 25 4071\nworking 1390 4071 7\ntool t417 a"


@pytest.mark.parametrize(
    "events, working",
    [
        ([], "5526 25, 1390 * 7"),
        (EVENTS[:1], "5526 25, 1390 * 7"),
        ([EVENTS[1]], "5526 25, 1390 * 7"),  # a call of a tool that no search of the step found
        ([EVENTS[0], CallEvent("call_tool", "t417 25", "retry", "4071")], "5526 25, 1390 * 7"),
        ([*EVENTS, CallEvent("find_tools", "1390", "ok", "t230 a b")], "1390 4071 7"),
        (
            [
                *EVENTS,
                CallEvent("find_tools", "1390", "ok", "t230 a b"),
                CallEvent("call_tool", "t230 4071 7", "ok", "2817"),
            ],
            "2817",
        ),
    ],
)
def test_the_working_memory_is_the_rest_of_the_question(events, working):
    assert rule_memory(QUESTION, events)["working"] == working


def test_repeated_and_failed_searches_leave_the_tool_memory_as_it_is():
    failed = CallEvent("find_tools", "1", "retry", "no tool has a word of the query: try other words")
    assert rule_memory(QUESTION, [*EVENTS, EVENTS[0], failed])["tool"] == "t417 a"


def asked(replies, *, context=4000, before="", events=EVENTS):
    work = ask_memory(TASK, before, events, AuxChat(Compact(), Sampling(max_tokens=40), context))
    requests, left = [next(work)], list(replies)
    try:
        while True:
            requests.append(work.send(ParsedTurn(left.pop(0))))
    except StopIteration as over:
        return over.value, requests


def test_a_model_is_asked_once_for_each_part_with_the_history_as_data():
    found, requests = asked(["done one", " next: 1390\nnow ", "t417"])
    assert found == {"episodic": "done one", "working": "next: 1390\nnow", "tool": "t417"}
    assert memory_text(found) == "episodic done one\nworking next: 1390 now\ntool t417"
    history = json.dumps("find_tools 5526: t417 a\ncall_tool t417 25: 4071")
    for request, name in zip(requests, PARTS, strict=True):
        text = request.messages[-1].content
        assert request.by == "memory" and history in text.split("\n") and f"the {name} memory" in text


def test_the_memory_before_is_part_of_the_history():
    _, requests = asked(["a", "b", "c"], before="episodic x", events=EVENTS[1:])
    assert json.dumps("episodic x\ncall_tool t417 25: 4071") in requests[0].messages[-1].content
    (short,) = asked(["a", "b", "c"], context=300)[1][1].messages
    assert short.content.startswith(f"{QUESTION}\ndone: ") and short.content.endswith("working memory?")


def test_an_empty_reply_is_asked_again_once():
    assert asked(["a", "", "b", "c"])[0]["working"] == "b"
    with pytest.raises(NoReply, match="'memory' gave no reply"):
        asked(["a", "", " "])
