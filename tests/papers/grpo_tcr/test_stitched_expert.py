import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Message, Task
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.grpo_tcr.stitched_expert import stitched_expert
from handaxe.worlds.arithmetic import arithmetic
from handaxe.worlds.parts.demonstrate import demonstrate

WORLD = arithmetic()
TASK = Task("t", (Message("user", "12*34=?"),), "408", None, {"expression": "12*34"})


def test_a_call_takes_the_place_of_the_computed_part():
    one = demonstrate(WORLD.env(WORLD.tools), TASK, stitched_expert(WORLD.solution), format=Compact())
    assert [turn.parsed.text for turn in one.turns] == ["12*34=", "408"]
    assert [call.arguments for call in one.calls] == [{"expression": "12*34"}]
    assert [reply.content for reply in one.replies] == ["408"]


def test_easy_questions_get_a_call_as_well():
    for task in WORLD.tasks("train", 30, 0):
        one = demonstrate(WORLD.env(WORLD.tools), task, stitched_expert(WORLD.solution), format=Compact())
        assert len(one.calls) == 1 and one.final_text == task.answer == one.replies[0].content


def test_words_before_the_expression_stay_words():
    speaker = stitched_expert(lambda task: "The product is 12*34=408")
    message = speaker(TASK, {"turn": 0})
    assert message.content == "The product is 12*34=" and message.calls[0].arguments == {"expression": "12*34"}


@pytest.mark.parametrize("solution", [None, lambda task: "", lambda task: "it is 408"])
def test_a_solution_without_a_computed_part_raises(solution):
    with pytest.raises(InputError, match="has no '=' to paste a call at"):
        stitched_expert(solution)(TASK, {"turn": 0})
