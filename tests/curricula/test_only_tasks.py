import pytest

from handaxe.core.errors import InputError, TaskError
from handaxe.curricula.only_tasks import only_tasks
from handaxe.testing.make_records import make_task


def tasks_of(*parts):
    return [make_task(id=f"{k}", metadata={} if part is None else {"part": part}) for k, part in enumerate(parts)]


def test_only_tasks_yields_the_chosen_kinds():
    order = only_tasks(key="part", among=("sums",))(tasks_of("sums", "words", "sums", None), 0)
    assert {task.id for step in range(3) for task in order.next(step, 2)} == {"0", "2"}
    both = only_tasks(key="part", among=("sums", "words"))(tasks_of("sums", "words", "boxes"), 0)
    assert {task.id for task in both.next(0, 2)} == {"0", "1"}


def test_only_tasks_refuses_unknown_and_unhashable_kinds():
    for among in ((), "sums"):
        with pytest.raises(InputError, match="at least one kind"):
            only_tasks(key="part", among=among)
    with pytest.raises(InputError, match="no task has one of words"):
        only_tasks(key="part", among=("words",))(tasks_of("sums"), 0)
    with pytest.raises(TaskError, match=r"task '1' has \['sums'\] as metadata 'part'"):
        only_tasks(key="part", among=("sums",))(tasks_of("sums", ["sums"]), 0)
