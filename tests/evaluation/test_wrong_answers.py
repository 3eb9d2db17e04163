"""One correct and three wrong answers: makers, order by the rule of the world, and controls at chance."""

from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import pytest

from handaxe.core.errors import InputError
from handaxe.evaluation.bench_items import control_chances, labels_of
from handaxe.evaluation.bench_scores import ANSWERS, PAIRS, bench_figures
from handaxe.evaluation.wrong_answers import BLANK, wrong_answers
from handaxe.worlds.arithmetic import arithmetic
from handaxe.worlds.hops.world import hops
from handaxe.worlds.worked_steps import worked_steps

TERSE = SimpleNamespace(answerer=SimpleNamespace(terse=True))
WORLDS = {"arithmetic": arithmetic, "parity": partial(worked_steps, ask="parity"), "hops": hops}


@pytest.fixture(scope="module", params=list(WORLDS))
def world(request):
    return WORLDS[request.param]()


@pytest.fixture(scope="module")
def items(world):
    return wrong_answers(world=world, split="test", count=40, seed=0)


def texts(item):
    return [one.ask(TERSE).fields["did"].partition("<END>")[0] for one in item.questions]


def test_a_task_has_one_correct_and_three_other_answers(world, items):
    for item in items:
        assert labels_of(item).tolist() == [True, False, False, False]
        assert len(set(texts(item))) == 4


def test_the_first_answer_is_correct_and_evidence_stays(world, items):
    answers = {task.id: task.answer for task in world.tasks("test", 80, 0)}
    if world.name == "arithmetic":
        assert all(texts(item)[0] == answers[item.task] for item in items)
    before = [{one.ask(TERSE).fields["before"] for one in item.questions} for item in items]
    assert all(len(one) == 1 for one in before)


def test_judges_that_see_only_lengths_are_at_chance(items):
    labels = [labels_of(item) for item in items]
    for name, chances in control_chances(items).items():
        found = bench_figures(ANSWERS, list(zip(chances, labels, strict=True)))["pair"]
        assert found.low <= 0.5 <= found.high, (name, found)


def test_judges_of_pairs_that_see_only_lengths_or_positions_are_at_chance():
    items = wrong_answers(world=arithmetic(), split="test", count=40, seed=0, pairs=True)
    labels = [labels_of(item) for item in items]
    for name, chances in control_chances(items).items():
        found = bench_figures(PAIRS, list(zip(chances, labels, strict=True)))["pair"]
        assert found.low <= 0.5 <= found.high, (name, found)


def test_texts_without_an_answer_alternate():
    found = [text for item in wrong_answers(world=arithmetic(), split="test", count=20, seed=0) for text in texts(item)]
    counts = [found.count(one) for one in BLANK]
    assert abs(counts[0] - counts[1]) <= 1 and min(counts) >= 5


def test_a_world_without_an_expert_or_a_text_is_refused():
    world = arithmetic()
    with pytest.raises(InputError, match="has no 'expert'"):
        wrong_answers(world=replace(world, expert=None), split="test", count=2, seed=0)
    with pytest.raises(InputError, match="no task with a text of the expert that is correct"):
        wrong_answers(world=replace(world, is_answer=lambda turn: False), split="test", count=2, seed=0)
