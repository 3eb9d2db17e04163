import pytest

from handaxe.core.errors import TaskError
from handaxe.core.records import ToolCall
from handaxe.rewards.parts.reference import gold_answers, gold_calls, gold_state, normalise
from handaxe.testing.make_records import make_task


def test_reference_matches_the_docstring_example():
    assert gold_answers(make_task(answer="Paris")) == ("Paris",)
    assert gold_answers(make_task(answer=["Paris", "Paris, France"])) == ("Paris", "Paris, France")
    assert gold_answers(make_task(answer=408)) == ("408",)
    listed = [{"name": "f", "arguments": {"x": 1}}]
    assert gold_calls(make_task(answer=listed)) == (ToolCall("f", {"x": 1}),)
    assert gold_calls(make_task(answer={"calls": listed})) == (ToolCall("f", {"x": 1}),)
    assert gold_calls(make_task(answer=[ToolCall("f", {})])) == (ToolCall("f", {}),)
    assert gold_calls(make_task(answer=[])) == ()
    assert gold_state(make_task(answer={"state": {"balance": 5}})) == {"balance": 5}


@pytest.mark.parametrize("answer", [None, [], {}, [None], {"calls": []}, [["a"]]])
def test_a_task_without_an_answer_is_an_error(answer):
    with pytest.raises(TaskError, match="task-0"):
        gold_answers(make_task(answer=answer))


@pytest.mark.parametrize("answer", [None, "f", {}, ["f"], [{"name": "f"}], [{"name": 1, "arguments": {}}]])
def test_a_task_without_a_list_of_calls_is_an_error(answer):
    with pytest.raises(TaskError, match="task-0"):
        gold_calls(make_task(answer=answer))


@pytest.mark.parametrize("answer", [None, "x", {}, {"state": {}}, {"state": 1}])
def test_a_task_without_a_state_is_an_error(answer):
    with pytest.raises(TaskError, match="task-0"):
        gold_state(make_task(answer=answer))


@pytest.mark.parametrize(
    "text, normal",
    [("The  Eiffel Tower!", "eiffel tower"), ("an apple a day", "apple day"), ("theatre", "theatre"), ("...", "")],
)
def test_normalise_drops_case_punctuation_and_articles(text, normal):
    assert normalise(text) == normal
