import re

import numpy as np
import pytest

from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.agent0.arithmetic_questions import (
    OPENING,
    QUESTIONS,
    WORDINGS,
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


@pytest.mark.parametrize("number", range(len(WORDINGS)))
def test_every_wording_reads_what_it_writes(number):
    for expression in ("23*41", "0+7", "9-1234"):
        task = read_question(write_question(expression, number))
        assert task.metadata["expression"] == expression and task.messages[0].content == f"{expression}=?"


def test_near_copies_are_clusters_and_not_verbatim_copies():
    asked = [write_question(one, number) for one in ("23*41", "7*8", "5+6") for number in range(len(WORDINGS))]
    assert len(set(asked)) == len(asked)
    shares = dict(zip(asked, cluster_shares(asked) * len(asked), strict=True))
    found = {text: round(share) for text, share in shares.items()}  # two operands, or two wordings
    assert [found[write_question("23*41", number)] for number in range(len(WORDINGS))] == [2, 2, 1, 1]
    assert [found[write_question("5+6", number)] for number in range(len(WORDINGS))] == [2, 2, 1, 1]


def test_questions_of_the_start_have_near_copies():
    """The short form of the same questions has clusters of one, but for equal ones."""
    asked = [text for _, text in QUESTIONS[:32]]
    shares, copies = cluster_shares(asked), np.array([asked.count(one) for one in asked]) / 32
    assert (shares >= copies).all() and shares.mean() == pytest.approx(0.09, abs=0.01) and copies.mean() < 0.04
    short = [read_question(text).metadata["expression"] for text in asked]
    assert cluster_shares(short).mean() < 0.05


def test_questions_of_the_start_are_seldom_like_the_harder_tasks():
    def kind(expression):
        left, sign, right = re.split(r"([-+*])", expression)
        return sign, len(left), len(right)

    tasks = arithmetic.tasks(count=400, seed=0, easy=0.0)
    hard = {kind(task.metadata["expression"]) for task in tasks}
    drawn = [kind(read_question(text).metadata["expression"]) for _, text in QUESTIONS]
    assert sum(one in hard for one in drawn) / len(drawn) < 0.1
    assert {sign for sign, _, _ in drawn} == set("+-*")


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
