"""Twins of worked sums: one wrong line, equal lengths, and controls at chance."""

from types import SimpleNamespace

import pytest

from handaxe.evaluation.bench_items import control_chances, labels_of
from handaxe.evaluation.bench_scores import STEPS, bench_figures
from handaxe.evaluation.step_twins import step_twins

pytest.importorskip("sympy")
TERSE = SimpleNamespace(answerer=SimpleNamespace(terse=True))


@pytest.fixture(scope="module")
def items():
    return step_twins(split="test", count=40, seed=0)


def halves(item):
    half = len(item.questions) // 2
    return item.questions[:half], item.questions[half:]


def test_one_line_of_the_second_rollout_is_wrong(items):
    assert len(items) == len({item.task for item in items}) == 40
    for item in items:
        clean, error = halves(item)
        assert all(one.correct for one in clean)
        (wrong,) = [k for k, one in enumerate(error) if not one.correct]
        left, right = error[wrong].ask(TERSE).fields["did"].partition("line ")[2].partition("<")[0].split("=")
        assert sum(map(int, left.split("+"))) != int(right)
        assert wrong < len(error) - 1  # a line, and not the answer


def test_lengths_and_places_of_both_rollouts_are_equal(items):
    for item in items:
        clean, error = halves(item)
        assert [one.lengths for one in clean] == [one.lengths for one in error]
        assert [one.place for one in clean] == [one.place for one in error] == list(range(len(clean)))


def test_the_lines_after_a_wrong_line_go_on_from_its_result(items):
    for item in items:
        _, error = halves(item)
        fields = [one.ask(TERSE).fields for one in error]
        assert fields[-1]["did"].partition("<")[0] == fields[-1]["before"]
        assert all(one["then"] == after["before"] for one, after in zip(fields, fields[1:]))


def test_judges_that_see_only_lengths_or_places_are_at_chance(items):
    labels = [labels_of(item) for item in items]
    for name, chances in control_chances(items).items():
        found = bench_figures(STEPS, list(zip(chances, labels, strict=True)))
        assert found["pair"].low <= 0.5 <= found["pair"].high, name
        assert found["f1"].value <= 0.5, name  # one threshold hits at most one rollout of each task


def test_no_sum_is_in_both_splits(items):
    def sums(found):
        return {one.ask(TERSE).fields["task"] for item in found for one in item.questions}

    assert not sums(items) & sums(step_twins(split="train", count=40, seed=0))


def test_equal_seeds_give_equal_questions(items):
    again = step_twins(split="test", count=40, seed=0)
    keys = [[[one.ask(TERSE).key("") for one in item.questions] for item in found] for found in (items, again)]
    assert keys[0] == keys[1] and step_twins(split="test", count=2, seed=1)[0].task != items[0].task
