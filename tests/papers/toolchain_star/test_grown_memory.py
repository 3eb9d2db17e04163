import random

import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Task
from handaxe.papers.toolchain_star.call_meter import CallMeter
from handaxe.papers.toolchain_star.compare_searches import Searched
from handaxe.papers.toolchain_star.grown_memory import grown_memory
from handaxe.papers.toolchain_star.plan_steps import plan_steps
from handaxe.testing.make_records import make_trajectory

PLAN = plan_steps(make_trajectory())


def tasks(count):
    return [Task(f"t{n}", (), None) for n in range(count)]


def solver(solved, seen):
    """A search that solves the named tasks, and notes the size of the memory and the tasks of each round."""

    def solve(memory, own):
        seen.append((len(memory), [one.id for one in own]))
        return [Searched(make_trajectory(), one.id in solved, CallMeter()) for one in own]

    return solve


def test_grown_memory_matches_its_example():
    seen = []
    assert grown_memory([("p",)], tasks(2), solver({"t1"}, seen), rounds=2) == [("p",), PLAN]
    assert seen == [(1, ["t0"]), (1, ["t1"])]


@pytest.mark.parametrize(("count", "rounds"), [(1, 1), (7, 3), (8, 4), (5, 5)])
def test_it_equals_a_slow_loop(count, rounds):
    rng = random.Random(count)
    solved, seen = {f"t{n}" for n in range(count) if rng.random() < 0.5}, []
    grown = grown_memory([("p",), ("q",)], tasks(count), solver(solved, seen), rounds=rounds)
    size, sizes = 2, []
    for r in range(rounds):
        sizes.append(size)
        for n in range(count):
            if r * count // rounds <= n < (r + 1) * count // rounds and f"t{n}" in solved:
                size += 1
    assert [known for known, _ in seen] == sizes and len(grown) == size
    assert [name for _, own in seen for name in own] == [f"t{n}" for n in range(count)]


def test_a_search_without_an_answer_adds_nothing():
    found = grown_memory([("p",)], tasks(1), lambda memory, own: [Searched(None, False, CallMeter())], rounds=1)
    assert found == [("p",)]


@pytest.mark.parametrize("rounds", [0, 3])
def test_more_rounds_than_tasks_are_refused(rounds):
    with pytest.raises(InputError, match=f"rounds is {rounds}, and there are 2 tasks"):
        grown_memory([("p",)], tasks(2), solver((), []), rounds=rounds)
