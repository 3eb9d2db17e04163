import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Message, ToolCall
from handaxe.synthesis.corruptions import Corruptor, copied_answer, resumed
from handaxe.synthesis.task_drafts import task_draft
from handaxe.worlds.arithmetic import arithmetic

WORLD = arithmetic()
CORRUPTOR = Corruptor(WORLD, WORLD.env(WORLD.tools))
DRAFT = task_draft(WORLD.tasks("train", 1, 0)[0])


def test_a_copied_answer_is_found_by_its_place():
    assert copied_answer("408", "408", "36") == "36"
    assert copied_answer("luta", "mayor: luta.", "mayor: kemi.") == "kemi"
    assert copied_answer("luta", "luta and luta", "kemi and tolven") == "luta"
    assert copied_answer("7", "mayor: luta.", "mayor: kemi.") == "7"


def test_a_resumed_expert_copies_the_reply_of_the_changed_call():
    right = CORRUPTOR.right(DRAFT)
    assert right.final_text == right.replies[-1].content == DRAFT.payload["answer"]
    turns = [Message("assistant", "", (ToolCall("calculator", {"expression": "5*5"}),))]
    speak = resumed(WORLD.expert, right, turns)
    facts = {"tools": ["calculator"]}
    assert speak(right.task, {**facts, "turn": 0, "replies": []}) == turns[0]
    assert speak(right.task, {**facts, "turn": 1, "replies": ["25"]}).content == "25"


def test_a_rewritten_text_is_kept_if_it_is_incorrect_and_of_similar_length():
    right = CORRUPTOR.right(DRAFT)
    answer = right.final_text
    wrong = str(int(answer) + 1)
    assert CORRUPTOR.by_text(right, wrong).trajectory.final_text == wrong
    assert CORRUPTOR.by_text(right, answer) == (None, "no change is incorrect")
    assert CORRUPTOR.by_text(right, wrong * 40) == (None, "another length")


def test_kinds_and_numbers_are_checked():
    for wrong in ({"kinds": ("letter",)}, {"kinds": ()}, {"tries": 0}, {"length": -0.1}):
        with pytest.raises(InputError, match="corruptions take kinds out of digit"):
            Corruptor(WORLD, WORLD.env(WORLD.tools), **wrong)
