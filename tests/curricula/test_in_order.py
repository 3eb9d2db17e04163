import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handaxe.core.errors import CheckpointError, TaskError
from handaxe.core.protocols import Stateful
from handaxe.curricula.in_order import in_order
from handaxe.testing.make_records import make_task

TASKS = [make_task(id=name) for name in "abcdefg"]


def names(tasks):
    return "".join(task.id for task in tasks)


def test_in_order_matches_the_docstring_example():
    tasks = in_order(TASKS[:3], shuffle=False)
    assert [names(tasks.next(step, 2)) for step in range(4)] == ["ab", "ca", "bc", "ab"]


@settings(max_examples=30)
@given(st.lists(st.integers(0, 20), min_size=1, max_size=8), st.integers(0, 3), st.booleans())
def test_every_task_occurs_once_an_epoch(counts, seed, shuffle):
    tasks = in_order(TASKS, seed=seed, shuffle=shuffle)
    handed = "".join(names(tasks.next(step, count)) for step, count in enumerate(counts))
    assert len(handed) == sum(counts)
    for start in range(0, len(handed), 7):
        epoch = handed[start : start + 7]
        assert len(set(epoch)) == len(epoch)


def test_epochs_and_seeds_have_different_orders():
    tasks, other = in_order(TASKS, seed=1), in_order(TASKS, seed=2)
    epochs = [names(tasks.next(step, 7)) for step in range(4)]
    assert len(set(epochs)) == 4 and "abcdefg" not in epochs
    assert names(other.next(0, 7)) != epochs[0]


def test_the_same_step_gives_the_same_tasks():
    tasks = in_order(TASKS)
    first = names(tasks.next(0, 3))
    tasks.observe([])
    assert names(tasks.next(0, 3)) == first
    second = names(tasks.next(1, 4))
    assert sorted(first + second) == sorted("abcdefg")


@pytest.mark.parametrize("at", [0, 1, 3])
def test_a_restored_curriculum_continues_the_order(at):
    whole = in_order(TASKS, seed=5)
    wanted = [names(whole.next(step, 3)) for step in range(6)]
    before = in_order(TASKS, seed=5)
    assert isinstance(before, Stateful)
    got = [names(before.next(step, 3)) for step in range(at)]
    after = in_order(TASKS, seed=5)
    after.load_state_dict(json.loads(json.dumps(before.state_dict())))
    assert got + [names(after.next(step, 3)) for step in range(at, 6)] == wanted


def test_state_of_other_tasks_is_an_error():
    state = in_order(TASKS).state_dict()
    for other in (in_order(TASKS[:3]), in_order(TASKS, seed=1), in_order(TASKS, shuffle=False)):
        with pytest.raises(CheckpointError):
            other.load_state_dict(state)


def test_no_tasks_and_equal_ids_are_errors():
    with pytest.raises(TaskError, match="empty"):
        in_order([])
    with pytest.raises(TaskError, match="'a'"):
        in_order([TASKS[0], TASKS[1], make_task(id="a")])


def test_epochs_may_end_within_a_step():
    tasks = in_order(TASKS[:2])
    assert sorted(names(tasks.next(0, 6))) == list("aaabbb")
    assert names(tasks.next(1, 0)) == ""
