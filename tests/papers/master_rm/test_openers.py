import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.core.records import Message, Task, ToolCall
from handaxe.papers.master_rm.openers import opener, openers, solution_question, solution_text
from handaxe.testing.make_records import make_trajectory

CALL = ToolCall("calculator", {"expression": "5*8"})


def solution(*texts, task="t", calls=None, replies=None, errors=None):
    own = Task(task, (Message("user", "What is 5*8?"),), "40")
    return make_trajectory(texts=list(texts), calls=calls, replies=replies, errors=errors, task=own, id=task)


WORKED = solution("", "40", calls=[[CALL], []], replies=[["40"], []])


@pytest.mark.parametrize(
    "texts, first",
    [
        (["Let us see. It is 4."], "Let us see."),
        (["Solution: 40"], "Solution:"),
        (["Hm\n40"], "Hm"),
        (["Really? Yes"], "Really?"),
        (["40"], ""),
        (["4.5 is it"], ""),
        (["  Let us see.  "], ""),
        (["Let us see.", "40"], "Let us see."),
        ([""], ""),
        (["", "40"], ""),
    ],
)
def test_an_opener_is_the_first_sentence_of_a_longer_solution(texts, first):
    assert opener(solution(*texts)) == first


def test_a_call_is_an_opener_without_its_result():
    assert opener(WORKED) == "calculator(5*8)"
    assert solution_text(WORKED) == "calculator(5*8) -> 40\n40"
    assert opener(solution("I call. Now", "40", calls=[[CALL], []], replies=[["40"], []])) == "I call."


def test_a_malformed_call_is_written_as_the_policy_wrote_it():
    one = solution("calculator(5*", "40", errors=[["the call does not end"], []])
    assert opener(one) == one.turns[0].parsed.raw.strip()


def test_openers_are_negative_and_distinct_by_task():
    made = [
        solution("Let us see. It is 4.", task="a"),
        solution("5", task="b"),
        solution("Let us see. It is 5.", task="a"),
        solution("Hm. 6", task="c"),
        solution("Let us see. It is 4.", task="c"),
    ]
    found = openers(made, most=2)
    assert [(ask.about[0], ask.fields["response"], label) for ask, label in found] == [
        ("a", "Let us see.", "no"),
        ("c", "Hm.", "no"),
    ]
    assert [ask.fields["response"] for ask, _ in openers(made, most=9)] == ["Let us see.", "Hm.", "Let us see."]


@given(st.lists(st.sampled_from(["40", "Hm. 40", "Hm. 41", "So: 40"]), max_size=8), st.integers(1, 9))
def test_openers_equal_a_loop(texts, most):
    made = [solution(text, task="ab"[k % 2]) for k, text in enumerate(texts)]
    expected = []
    for one in made:
        first, space, _ = one.turns[0].parsed.text.partition(" ")
        pair = (one.task.id, first)
        if space and pair not in expected:
            expected.append(pair)
    if not expected:
        with pytest.raises(InputError, match="has an opener"):
            openers(made, most=most)
        return
    assert [(ask.about[0], ask.fields["response"]) for ask, _ in openers(made, most=most)] == expected[:most]


@given(st.text(max_size=40))
def test_a_response_stays_in_its_field(text):
    ask = solution_question(Task("t", (Message("user", "What is 5*8?"),), "40"), text)
    (message,) = ask.prompt.render(ask.fields)
    line = message.content.split("\n")[2]
    assert message.content.split("\n")[:2] == ["question: What is 5*8?", "answer: 40"]
    assert json.loads(line.removeprefix("response: ")) == text


@pytest.mark.parametrize("most", [0, -1])
def test_a_number_below_one_raises(most):
    with pytest.raises(InputError, match=f"most is {most}; give 1 or more"):
        openers([WORKED], most=most)
