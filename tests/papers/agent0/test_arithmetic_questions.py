import pytest

from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.agent0.arithmetic_questions import (
    OPENING,
    QUESTIONS,
    arithmetic_questions,
    is_training_question,
    read_question,
    unlabelled_pool,
)
from handaxe.testing.worlds import check_world
from handaxe.worlds.parts import arithmetic_tasks as arithmetic


def test_arithmetic_questions_keeps_the_world_contract():
    check_world(arithmetic_questions(), count=20)


def test_read_question_parses_expressions_only():
    task = read_question(" 23*41 ")
    assert (task.id, task.messages[0].content, task.answer) == ("asked-23*41", "23*41=?", None)
    for text in ("", "twice 41", "23*41=?", "1+2+3", "12345+1", "1/2", "-3+4", "007+1", "1 + 2"):
        assert read_question(text) is None
    assert read_question("0*7") is not None


def test_is_training_question_rejects_test_problems():
    test = [task.metadata["expression"] for task in arithmetic_questions().tasks("test", 60, 3)]
    train = [task.metadata["expression"] for task in arithmetic_questions().tasks("train", 60, 3)]
    assert not any(is_training_question(read_question(one)) for one in test)
    assert all(is_training_question(read_question(one)) for one in train)
    assert {arithmetic.problem_split(one) for one in test} == {"test"}


def test_warmup_contains_readable_questions():
    assert len(QUESTIONS) == 400
    assert all(
        asked == OPENING.messages[0].content and is_training_question(read_question(text)) for asked, text in QUESTIONS
    )
    lengths = [len(Compact().encode_turn(type(OPENING.messages[0])("assistant", text), ())) for _, text in QUESTIONS]
    assert max(lengths) < 16


@pytest.mark.parametrize("split", ["train", "test"])
def test_unlabelled_pool_has_no_answers(split):
    tasks = arithmetic_questions().tasks(split, 5, 0)
    pool = unlabelled_pool(tasks, 0)
    assert {one.id for one in pool.next(0, 5)} == {one.id for one in tasks}
    assert all(one.answer == "" and one.metadata["score"] == 0.0 for one in pool.tasks)
