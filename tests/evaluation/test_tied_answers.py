"""Prompts with several right answers: labels by division, ranges, splits, and controls at chance."""

import re
from types import SimpleNamespace

import pytest

from handaxe.evaluation.bench_items import control_chances, labels_of
from handaxe.evaluation.bench_scores import bench_figures
from handaxe.evaluation.tie_scores import TIES
from handaxe.evaluation.tied_answers import tied_answers

TERSE = SimpleNamespace(answerer=SimpleNamespace(terse=True))
TEXT = re.compile(r"Name a whole number from (\d+) to (\d+) that is divisible by (\d+)\.")


@pytest.fixture(scope="module")
def items():
    return tied_answers(split="test", count=1000, seed=0)


def test_labels_are_by_division_and_answers_within_the_range(items):
    for item in items:
        fields = [one.ask(TERSE).fields for one in item.questions]
        for label, one in zip(labels_of(item), fields, strict=True):
            low, high, divisor = map(int, TEXT.fullmatch(one["task"]).groups())
            answer = int(one["did"].partition("<")[0])
            assert low <= answer <= high and label == (answer % divisor == 0)


def test_the_tied_prompt_has_three_multiples_and_the_reference_one(items):
    for item in items:
        assert labels_of(item).tolist() == [True] * 3 + [False] * 3 + [True] + [False] * 5
        for one, multiples in ((item.questions[0], 3), (item.questions[6], 1)):
            low, high, divisor = map(int, TEXT.fullmatch(one.ask(TERSE).fields["task"]).groups())
            assert sum(k % divisor == 0 for k in range(low, high + 1)) == multiples
        texts = [one.ask(TERSE).fields["did"] for one in item.questions]
        assert len(set(texts[:6])) == len(set(texts[6:])) == 6


def test_judges_that_see_no_text_win_half_of_the_pairs(items):
    labels = [labels_of(item) for item in items]
    for chances in control_chances(items).values():
        found = bench_figures(TIES, list(zip(chances, labels, strict=True)), resamples=2)
        assert found["pair"].value == 0.5 and found["ties"].value == 0


@pytest.mark.slow
def test_splits_share_no_task_and_seeds_differ(items):
    train = {one.task for one in tied_answers(split="train", count=10_000, seed=0)}
    assert not train & {one.task for one in items} and len(train) > len(items) > 50
    assert [one.task for one in tied_answers(split="test", count=9, seed=0)] == [one.task for one in items[:9]]
    assert [one.task for one in tied_answers(split="test", count=9, seed=1)] != [one.task for one in items[:9]]
