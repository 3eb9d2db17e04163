import random

import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Message, Task
from handaxe.curricula.task_pool import task_pool
from handaxe.training.stages.choose import choose
from handaxe.training.stages.parts.choose_by_label import choose_by_label


def task(name, **labels):
    return Task(name, (Message("user", name),), metadata=labels)


FOUR = [task(name, probe=value) for name, value in zip("abcd", (0, 0.25, 0.75, 1), strict=True)]


def names(tasks):
    return "".join(one.id for one in tasks)


def test_the_example():
    assert names(choose_by_label(above=0, below=1, order="descending")(FOUR)) == "cb"
    assert names(choose_by_label(above=0.5, below=1, least=2)(FOUR)) == "cd"
    assert names(choose_by_label(order="ascending", most=2)(FOUR)) == "ab"
    assert names(choose_by_label(balance=lambda one: one.metadata["probe"] > 0.1)(FOUR)) == "ab"


def test_it_keeps_what_a_slow_loop_keeps():
    rng = random.Random(0)
    tasks = [
        task(f"{i} ", probe=rng.choice([None, *(k / 8 for k in range(9))]), easy=rng.random() < 0.3) for i in range(60)
    ]
    found = choose_by_label(above=0.1, below=0.9, order="descending", most=20, balance=lambda t: t.metadata["easy"])(
        tasks
    )
    inside = [one for one in tasks if one.metadata["probe"] is not None and 0.1 < one.metadata["probe"] < 0.9]
    wanted = []
    for value in sorted({one.metadata["probe"] for one in inside}, reverse=True):
        wanted += [one for one in inside if one.metadata["probe"] == value]
    fewest = min(sum(one.metadata["easy"] is easy for one in wanted) for easy in (True, False))
    taken = {True: 0, False: 0}
    expected = []
    for one in wanted:
        if taken[one.metadata["easy"]] < fewest:
            taken[one.metadata["easy"]] += 1
            expected.append(one)
    assert found == expected[:20] and len(found) > 5


def test_a_second_label_is_taken_off():
    tasks = [task("a", free=0.5, bound=0.5), task("b", free=1.0, bound=0.25), task("c", free=0.25, bound=0.75)]
    assert names(choose_by_label(label="free", minus="bound", order="descending")(tasks)) == "bac"
    assert names(choose_by_label(label="free", minus="bound", above=0)(tasks)) == "b"


def test_an_edge_is_outside_up_to_rounding_and_ties_stay_as_they_were():
    tasks = [task("a", probe=0.1 + 0.2), task("b", probe=0.3), task("c", probe=0.5), task("d", probe=0.5)]
    assert names(choose_by_label(above=0.3)(tasks)) == "cd"
    assert names(choose_by_label(order="descending")(tasks[::-1])) == "dcba"


def test_those_nearest_to_the_range_make_up_what_it_lacks():
    assert names(choose_by_label(above=0, below=0.25, least=3)(FOUR)) == "abc"
    assert names(choose_by_label(above=0, below=1, least=2)(FOUR)) == "bc"
    assert names(choose_by_label(above=0, below=1, least=9)(FOUR)) == "abcd"
    assert names(choose_by_label(above=0.8, below=0.9, least=2, order="descending")(FOUR)) == "dc"


def test_what_was_never_scored_is_left_out():
    tasks = [task("a", probe=None), task("b", probe=0.5)]
    assert names(choose_by_label()(tasks)) == "b" and choose_by_label()([]) == []


def test_it_fits_the_stage(world):
    site = world.site(tasks=task_pool(FOUR, shuffle=False))
    choose(tasks=choose_by_label(above=0, order="descending"))(site)
    assert names(site.tasks.next(0, 3)) == "dcb"
    with pytest.raises(InputError, match="left none of 3 tasks"):
        choose(tasks=choose_by_label(above=1))(site)


def test_choose_by_label_refuses_empty_bounds_and_tasks_without_the_label():
    with pytest.raises(InputError, match="no label lies between"):
        choose_by_label(above=1, below=0)
    with pytest.raises(InputError, match="most is 0"):
        choose_by_label(most=0)
    with pytest.raises(InputError, match=r"task 'a' has no label 'known': put probe\(label='known'\)"):
        choose_by_label(label="known")(FOUR)
