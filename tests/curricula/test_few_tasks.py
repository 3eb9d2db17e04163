import pytest

from handaxe.core.errors import InputError
from handaxe.curricula.few_tasks import few_tasks
from handaxe.testing.make_records import make_task


def test_few_tasks_repeats_the_first_tasks():
    order = few_tasks(count=2)([make_task(id=name) for name in "abcd"], 0)
    names = [task.id for step in range(4) for task in order.next(step, 2)]
    assert [set(names[k : k + 2]) for k in range(0, 8, 2)] == [{"a", "b"}] * 4


def test_a_count_above_the_tasks_uses_all_and_zero_is_an_error():
    assert {task.id for task in few_tasks(count=9)([make_task(id="a")], 0).next(0, 3)} == {"a"}
    with pytest.raises(InputError, match="count"):
        few_tasks(count=0)
