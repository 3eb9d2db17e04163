import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Group, Message
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.search_gen_v.nuggets import SHORT_LABELS, marks, nuggets
from handaxe.testing.worlds import check_world
from handaxe.worlds.parts.demonstrate import demonstrate

WORLD = nuggets()
TRAIN, TEST = WORLD.tasks("train", 300, 0), WORLD.tasks("test", 300, 0)


def reply(task, text):
    return demonstrate(
        WORLD.env(()), task, lambda task, facts: Message("assistant", text), format=Compact(), max_turns=1
    )


def test_nuggets_keeps_the_world_contract():
    check_world(WORLD, count=12)


@pytest.mark.parametrize("task", TEST[:20], ids=lambda task: task.id)
def test_labels_count_equal_digits(task):
    answer, rubric = (line[2:].split() for line in task.messages[0].content.split("\n"))
    equal = [sum(a == b for a, b in zip(one, two, strict=True)) for one, two in zip(answer, rubric, strict=True)]
    assert task.answer == [{2: "S", 1: "P", 0: "N"}[count] for count in equal]


def test_marks_by_hand():
    assert marks(["34", "12", "21"], ["34", "14", "43"]) == ["33=44=", "11=24x", "24x13x"]


def test_no_label_is_right_for_most_nuggets_and_no_constant_reply_for_most_tasks():
    labels = [label for task in (*TRAIN, *TEST) for label in task.answer]
    assert max(np.mean([label == one for label in labels]) for one in SHORT_LABELS) < 0.6
    lists = [tuple(task.answer) for task in (*TRAIN, *TEST)]
    assert max(lists.count(one) for one in set(lists)) / len(lists) < 0.35


def test_answer_and_rubric_alone_tell_little_of_the_labels():
    """Digits are even: the share of supported nuggets of an answer's digit differs by chance alone."""
    by_digit = {}
    for task in (*TRAIN, *TEST):
        answer = task.messages[0].content.split("\n")[0][2:].split()
        for one, label in zip(answer, task.answer, strict=True):
            by_digit.setdefault(one[0], []).append(label == "S")
    shares = [np.mean(values) for values in by_digit.values()]
    assert max(shares) - min(shares) < 0.1


def test_correctness_and_gauges_by_hand():
    task = next(task for task in TEST if not task.metadata["terse"])
    whole, bare = WORLD.expert(task, {}).content, "|".join(task.answer)
    turned = "|".join({"S": "N", "N": "P", "P": "S"}[label] for label in task.answer)
    ones = [reply(task, text) for text in (whole, bare, turned, "S|P|S", "")]
    assert WORLD.correct(Group(task, tuple(ones))).outcome.tolist() == [1, 1, 0, 0, 0]
    assert [WORLD.gauges["marked"].top(one, 0) for one in ones] == [1, 0, 0, 0, 0]
    found = [WORLD.gauges["macro_f1"].top(one, 0) for one in ones]
    assert found[:2] == [1, 1] and found[2] < 0.5 and found[3:] == [0, 0]


def test_terse_is_the_share_of_labels_alone():
    bare = [not WORLD.expert(task, {}).content.startswith("<reasoning>") for task in (*TRAIN, *TEST)]
    assert abs(np.mean(bare) - 0.5) < 3.5 * 0.5 / 600**0.5
    assert all(
        nuggets(terse=0.0).expert(task, {}).content[0] == "<" for task in nuggets(terse=0.0).tasks("test", 20, 0)
    )
    with pytest.raises(InputError, match="from 0 to 1"):
        nuggets(terse=1.5)
