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


def test_a_label_has_means_before_and_after(world):
    """Labels 0, 1/4, 1/2, 3/4, 1 and None: mean 1/2 before, 1/8 of the first two."""
    labels = [0.0, 0.25, 0.5, 0.75, 1.0, None]
    site = world.site(tasks=task_pool([world.task(f"t{i}", known=label) for i, label in enumerate(labels)]))
    (row,) = choose(tasks=lambda found: found[:2], label="known")(site)
    means = {"known/before": 0.5, "known": 0.125, "known/fall": 0.375}
    assert row == {"step": 0, "tasks/before": 6, "tasks": 2, **means}
