import pytest

from handaxe.core.errors import InputError
from handaxe.curricula.task_pool import task_pool
from handaxe.training.stages.choose import choose


def test_what_is_left_is_trained_on(world):
    site = world.site(tasks=task_pool([world.task(f"t{i}", known=i / 4) for i in range(5)]))
    (row,) = choose(tasks=lambda found: [one for one in found if 0 < one.metadata["known"] < 1])(site)
    assert row["tasks/before"] == 5 and row["tasks"] == 3
    assert sorted(one.id for one in site.tasks.next(0, 3)) == ["t1", "t2", "t3"]


def test_what_cannot_be_chosen(world):
    with pytest.raises(InputError, match="left none of 1 tasks"):
        choose(tasks=lambda found: [])(world.site(tasks=task_pool([world.task("t0")])))
    with pytest.raises(InputError, match="choose changes which tasks there are"):
        choose(tasks=list)(world.site())
