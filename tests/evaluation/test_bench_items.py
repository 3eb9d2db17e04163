"""Questions of a bench, and controls that see only lengths or positions."""

from types import SimpleNamespace

import numpy as np
import pytest

from handaxe.core.records import Criterion
from handaxe.evaluation.bench_items import BenchItem, BenchQuestion, answer_item, control_chances, labels_of, pair_item
from handaxe.testing.make_records import make_task, make_trajectory

TERSE = SimpleNamespace(answerer=SimpleNamespace(terse=True))
LONG = SimpleNamespace(answerer=SimpleNamespace(terse=False))


def rollouts(*texts):
    task = make_task(question="2+2=?")
    return [make_trajectory(texts=[text], task=task, id=f"r{k}") for k, text in enumerate(texts)]


def test_each_answer_is_a_question_with_its_label():
    item = answer_item(rollouts("4", "five", ""), Criterion("answer", "the answer is correct"))
    assert item.task == "task-0" and labels_of(item).tolist() == [True, False, False]
    assert [one.lengths for one in item.questions] == [(1,), (4,), (0,)]
    ask = item.questions[0].ask(TERSE)
    assert ask.prompt.name == "check.terse@1" and ask.fields["criterion"] == "the answer is correct"
    assert item.questions[0].ask(LONG).prompt.name == "check@1"


def test_labels_may_be_given():
    item = answer_item(rollouts("4", "four", "5"), Criterion("answer", "correct"), correct=[True, True, False])
    assert labels_of(item).tolist() == [True, True, False]


def test_pairs_are_asked_in_both_orders():
    item = pair_item(rollouts("4", "5", ""))
    assert labels_of(item).tolist() == [True, False, True, False]
    asked = [one.ask(TERSE).fields for one in item.questions]
    assert [(one["first"], one["second"]) for one in asked] == [("4", "5"), ("5", "4"), ("4", ""), ("", "4")]
    assert item.questions[0].ask(LONG).prompt.name == "which@1" and asked[0]["task"] == "2+2=?"


def test_controls_see_lengths_and_positions():
    def question(length, place):
        return BenchQuestion(lambda desk: None, True, (length,), place)

    steps = [BenchItem("a", (question(3, 0), question(3, 1))), BenchItem("b", (question(5, 0),))]
    found = control_chances(steps)
    assert set(found) == {"longer", "shorter", "first", "yes"}
    assert np.concatenate(found["longer"]) == pytest.approx([1 / 3, 1 / 3, 5 / 6])
    assert np.concatenate(found["shorter"]) == pytest.approx([2 / 3, 2 / 3, 1 / 6])
    assert [one.tolist() for one in found["first"]] == [[1.0, 0.5], [1.0]]
    assert [one.tolist() for one in found["yes"]] == [[1.0, 1.0], [1.0]]


def test_controls_of_pairs_prefer_a_length_or_the_first_text():
    found = control_chances([pair_item(rollouts("4", "five", "6"))])
    assert set(found) == {"longer", "shorter", "first"}
    assert found["longer"][0].tolist() == [0.0, 1.0, 0.5, 0.5] and found["first"][0].tolist() == [1.0] * 4


def test_controls_of_answers_alone_have_no_position():
    assert set(control_chances([answer_item(rollouts("4", "5"), Criterion("a", "b"))])) == {"longer", "shorter", "yes"}
