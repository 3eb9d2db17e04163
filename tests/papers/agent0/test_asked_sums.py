import pytest

from handaxe.models.compact import Compact
from handaxe.papers.agent0.asked_sums import OPENING, QUESTIONS, asked_sums, for_training, read_question, unlabelled
from handaxe.testing.worlds import check_world
from handaxe.worlds.parts import arithmetic_tasks as arithmetic


def test_it_keeps_the_contract():
    check_world(asked_sums(), count=20)


def test_only_an_expression_is_a_question():
    task = read_question(" 23*41 ")
    assert (task.id, task.messages[0].content, task.answer) == ("asked-23*41", "23*41=?", None)
    for text in ("", "twice 41", "23*41=?", "1+2+3", "12345+1", "1/2", "-3+4", "007+1", "1 + 2"):
        assert read_question(text) is None
    assert read_question("0*7") is not None


def test_what_is_held_out_is_not_trained_on():
    test = [task.metadata["expression"] for task in asked_sums().tasks("test", 60, 3)]
    train = [task.metadata["expression"] for task in asked_sums().tasks("train", 60, 3)]
    assert not any(for_training(read_question(one)) for one in test)
    assert all(for_training(read_question(one)) for one in train)
    assert {arithmetic.split_of_problem(one) for one in test} == {"test"}


def test_the_start_learns_to_write_questions_that_can_be_read():
    assert len(QUESTIONS) == 400
    assert all(asked == OPENING.messages[0].content and for_training(read_question(text)) for asked, text in QUESTIONS)
    lengths = [len(Compact().encode_turn(type(OPENING.messages[0])("assistant", text), ())) for _, text in QUESTIONS]
    assert max(lengths) < 16


@pytest.mark.parametrize("split", ["train", "test"])
def test_nothing_can_be_learned_of_tasks_without_answers(split):
    tasks = asked_sums().tasks(split, 5, 0)
    pool = unlabelled(tasks, 0)
    assert {one.id for one in pool.next(0, 5)} == {one.id for one in tasks}
    assert all(one.answer == "" and one.metadata["score"] == 0.0 for one in pool.tasks)
