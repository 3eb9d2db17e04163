import pytest

from handaxe.core.records import Message, Task, ToolCall
from handaxe.core.validation import check_group
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.crome.answer_rewrites import in_sentence, is_numeric, with_answer, with_number, with_question
from handaxe.testing.make_records import make_group
from handaxe.training.sft.scripted import trajectory_from_messages

TASK = Task("t", (Message("user", "3*4 ="),), "12")
OTHER = Task("o", (Message("user", "9*9 ="),), "81")


def rollout(text):
    said = (
        *TASK.messages,
        Message("assistant", "", (ToolCall("calculator", {"expression": "3*4"}, id="a"),)),
        Message("tool", "12", call_id="a", name="calculator"),
        Message("assistant", text),
    )
    return trajectory_from_messages(Compact(), said, task=TASK, id="t/0")


@pytest.mark.parametrize(
    "text, number, wanted",
    [("Well, it is 12", "13", "Well, it is 13"), ("no", "7", "7"), ("1 or 2", "-5", "1 or -5")],
)
def test_the_last_number_is_replaced(text, number, wanted):
    assert with_number(text, number) == wanted


def test_only_the_answer_changes():
    one = rollout("12")
    made = with_answer(one, in_sentence(one.final_text), format=Compact())
    assert made.final_text == "Well, it is 12" and made.id == "t/0/rewritten"
    assert [call.arguments for call in made.calls] == [{"expression": "3*4"}]
    start = one.turns[-1].start
    assert made.sequences[0].ids[:start].tolist() == one.sequences[0].ids[:start].tolist()
    check_group(make_group(trajectories=[made], task=TASK))


def test_only_the_question_changes():
    made = with_question(rollout("12"), OTHER, format=Compact())
    assert made.task == OTHER and made.messages[0].content == "9*9 ="
    assert made.messages[1:] == rollout("12").messages[1:]


@pytest.mark.parametrize("text, wanted", [("12", True), ("-3", True), ("it is 12", False), ("let me see", False)])
def test_numeric_answers(text, wanted):
    assert is_numeric(rollout(text)) == wanted
