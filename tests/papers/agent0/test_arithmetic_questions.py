import pytest

from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.agent0.arithmetic_questions import (
    OPENING,
    QUESTIONS,
    arithmetic_questions,
    is_training_question,
    read_question,
    unlabelled_pool,
    write_question,
)
from handaxe.papers.agent0.repetition import cluster_shares
from handaxe.testing.worlds import check_world
from handaxe.worlds.parts import arithmetic_tasks as arithmetic


def test_arithmetic_questions_keeps_the_world_contract():
    check_world(arithmetic_questions(), count=20)


def test_read_question_parses_questions_only():
    task = read_question(" What is the product of 23 and 41")
    assert (task.id, task.messages[0].content, task.answer) == ("asked-23*41", "23*41=?", None)
    assert read_question("Tell me the difference of 5 and 9").metadata["expression"] == "5-9"
    for text in ("", "23*41", "What is 23*41", "Tell us the sum of 1 and 2", "What is the sum of 12345 and 1"):
        assert read_question(text) is None
    for text in ("What is the ratio of 1 and 2", "What is the sum of 007 and 1", "What is the sum of 1 and 2 and 3"):
        assert read_question(text) is None
    assert read_question("Tell me the product of 0 and 7") is not None


def test_clusters_of_questions_are_operations_in_a_wording():
    """The short form of the same questions has clusters of one."""
    asked = [text for _, text in QUESTIONS[:32]]
    kinds = [tuple(text.split()[:4]) for text in asked]
    shares = cluster_shares(asked)
    for kind in set(kinds):
        own = {share for share, other in zip(shares, kinds, strict=True) if other == kind}
        assert own == {kinds.count(kind) / 32}
    short = [read_question(text).metadata["expression"] for text in asked]
    assert set(cluster_shares(short)) == {1 / 32}
    assert shares.mean() == pytest.approx(0.18, abs=0.01)


def test_is_training_question_rejects_test_problems():
    test = [task.metadata["expression"] for task in arithmetic_questions().tasks("test", 60, 3)]
    train = [task.metadata["expression"] for task in arithmetic_questions().tasks("train", 60, 3)]
    asked = [[read_question(write_question(one, 0)) for one in own] for own in (test, train)]
    assert not any(map(is_training_question, asked[0])) and all(map(is_training_question, asked[1]))
    assert {arithmetic.problem_split(one) for one in test} == {"test"}


def test_warmup_contains_readable_questions():
    assert len(QUESTIONS) == 400
    assert all(
        asked == OPENING.messages[0].content and is_training_question(read_question(text)) for asked, text in QUESTIONS
    )
    lengths = [len(Compact().encode_turn(type(OPENING.messages[0])("assistant", text), ())) for _, text in QUESTIONS]
    assert max(lengths) < 48


@pytest.mark.parametrize("split", ["train", "test"])
def test_unlabelled_pool_has_no_answers(split):
    tasks = arithmetic_questions().tasks(split, 5, 0)
    pool = unlabelled_pool(tasks, 0)
    assert {one.id for one in pool.next(0, 5)} == {one.id for one in tasks}
    assert all(one.answer == "" and one.metadata["score"] == 0.0 for one in pool.tasks)
