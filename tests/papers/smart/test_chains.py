import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Message, Task, ToolCall
from handaxe.papers.smart.chains import ChainStep, chain_steps, demonstrator, rule_justification, stated

STEPS = [
    ChainStep("know", "3+4", "3+4", "7"),
    ChainStep("code", "12*34", "12*34", "408"),
    ChainStep("know", "2+2", "2+2", "4"),
]
TASK = Task("t", (Message("user", stated(STEPS)),), "7 408 4", None, {"steps": [list(one) for one in STEPS]})


def said(turn, **options):
    one = demonstrator(**options)(TASK, {"turn": turn})
    return one.content, [(call.name, *call.arguments.values()) for call in one.calls]


def test_a_chain_is_cut_at_the_call_of_a_needed_step():
    assert TASK.messages[0].content == "3+4; 12*34; 2+2?" and chain_steps(TASK) == STEPS
    assert said(0) == ("know 3+4=7: small. code 12*34: large.", [("calculator", "12*34")])
    assert said(1) == ("know 2+2=4: small. answer 7 408 4", [])


def test_always_calls_for_known_steps_as_well():
    assert said(0, shown="always") == ("code 3+4: large.", [("calculator", "3+4")])
    assert said(2, shown="always") == ("code 2+2: large.", [("calculator", "2+2")])
    assert said(3, shown="always") == ("answer 7 408 4", [])


def test_without_justifications_calls_and_answer_remain():
    assert said(0, justify=None) == ("", [("calculator", "12*34")])
    assert said(1, justify=None) == ("answer 7 408 4", [])


def test_a_justification_is_one_line():
    text, _ = said(0, justify=lambda step: f"{step.kind}\n  so")
    assert text == "know 3+4=7: know so. code 12*34: code so."


@pytest.mark.parametrize("kind, tool", [("search", "search"), ("ask", "ask_user")])
def test_each_decision_has_its_tool(kind, tool):
    task = Task("t", (Message("user", "?"),), "5", None, {"steps": [[kind, "now 417", "417", "5"]]})
    (call,) = demonstrator()(task, {"turn": 0}).calls
    assert call == ToolCall(tool, {"query" if kind == "search" else "question": "417"})
    assert rule_justification(chain_steps(task)[0]) in ("changes", "yours")


def test_unknown_words_raise():
    with pytest.raises(InputError, match="shown is need or always"):
        demonstrator(shown="never")
