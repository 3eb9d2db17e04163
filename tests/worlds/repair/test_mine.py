"""Verification of tasks, by real runs."""

import pytest

pytest.importorskip("toolz")
pytest.importorskip("hyperlink")

from handaxe.worlds.repair.mine import check_task, mine
from handaxe.worlds.repair.tasks import mutants


@pytest.fixture(scope="module")
def known(sandbox):
    return [one for one in mutants() if one.module.name == "toolz.dicttoolz"]


def test_tasks_of_the_file_have_no_problem(known):
    assert [check_task(one) for one in known[:3]] == [[]] * 3


def test_problems_of_a_task_are_named(known):
    one = known[0]
    assert "tests fail" in check_task(one._replace(killers=99))[0]
    assert "the expert's search" in check_task(one._replace(tries=99))[-1]


@pytest.mark.slow
def test_mining_finds_the_tasks_of_a_module(known):
    """The same mutations with the same failing tests, by the fixed seed."""
    found = mine(known[0].module)
    assert {one.edit for one in found} >= {one.edit for one in known}
    assert all(check_task(one) == [] for one in found)
