import pytest

from handaxe.core.errors import InputError
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.grpo_tcr.mode_expert import mode_expert
from handaxe.worlds.arithmetic import arithmetic
from handaxe.worlds.parts.demonstrate import demonstrate

WORLD = arithmetic()
TASKS = WORLD.tasks("train", 40, 0)


def played(task, mode):
    return demonstrate(WORLD.env(WORLD.tools), task, mode_expert(WORLD.expert, mode=mode), format=Compact())


def test_deliberative_words_come_before_the_calls_of_hard_questions():
    for task in TASKS:
        one, hard = played(task, "deliberative"), task.metadata["difficulty"] == "hard"
        assert len(one.calls) == hard and one.final_text == task.answer
        if hard:
            assert one.turns[0].parsed.text == f"{task.metadata['expression']} hard"
        else:
            assert len(one.turns) == 1


def test_reactive_conversations_call_at_once_for_each_question():
    for task in TASKS:
        one = played(task, "reactive")
        assert len(one.calls) == 1 and one.turns[0].parsed.text == "" and one.final_text == task.answer
        assert all(reply.status == "ok" for reply in one.replies)


def test_another_mode_raises():
    with pytest.raises(InputError, match="mode is deliberative or reactive"):
        mode_expert(WORLD.expert, mode="lazy")
