import pytest

from handaxe.core.errors import TaskError
from handaxe.curricula.in_order import in_order
from handaxe.curricula.task_pool import task_pool
from handaxe.testing.make_records import make_task


def tasks(count):
    return [make_task(id=str(i)) for i in range(count)]


def names(found):
    return [one.id for one in found]


def test_task_pool_equals_in_order_until_its_tasks_change():
    pool, plain = task_pool(tasks(5), seed=3), in_order(tasks(5), seed=3)
    for step in range(3):
        assert names(pool.next(step, 2)) == names(plain.next(step, 2))
    pool.tasks = tasks(2)
    assert names(pool.tasks) == ["0", "1"] and sorted(names(pool.next(3, 4))) == ["0", "0", "1", "1"]


def test_state_restores_the_place_among_current_tasks():
    one, other = (task_pool(tasks(5), seed=1) for _ in range(2))
    for pool in (one, other):
        pool.tasks = tasks(4)
    one.next(0, 3)
    other.load_state_dict(one.state_dict())
    assert names(one.next(1, 5)) == names(other.next(1, 5))


def test_an_empty_pool_is_an_error():
    pool = task_pool(tasks(1))
    with pytest.raises(TaskError, match="empty"):
        pool.tasks = []
    assert names(pool.tasks) == ["0"]
