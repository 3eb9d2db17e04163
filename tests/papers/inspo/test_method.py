"""Constants of the method inspo, read by the tests of every method (tests/papers), and its options."""

import pytest
from helpers.methods import made

from handaxe.core.errors import InputError
from handaxe.papers.inspo import INITIAL

pytest.importorskip("bm25s")


def test_the_baseline_has_the_fixed_initial_instruction():
    method = made("inspo", "--population", "1", "--evolve-every", "1000")
    tasks = method.tasks(method.world.tasks("train", 20, 0), 0)
    drawn = [task for step in range(3) for task in tasks.next(step, 4)]
    assert {task.messages[0].content for task in drawn} == {INITIAL[0]}


def test_a_population_starts_with_every_initial_instruction():
    method = made("inspo")
    drawn = method.tasks(method.world.tasks("train", 20, 0), 0).next(0, 8)
    assert {task.messages[0].content for task in drawn} == set(INITIAL)


@pytest.mark.parametrize("population", ["0", "-1", "5"])
def test_a_population_out_of_range_is_refused(population):
    with pytest.raises(InputError, match="a population has 1 to 4 instructions"):
        made("inspo", "--population", population)


def test_a_model_reflects_by_the_judge_option():
    assert made("inspo", "--judge", "self").judge.learners and not made("inspo").judge.learners
