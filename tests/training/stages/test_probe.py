import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Scores
from handaxe.curricula.task_pool import task_pool
from handaxe.training.stages.probe import probe


def by_name(group):
    """Right as often as the task's number says: t0 never, t1 by one attempt in four, ..."""
    return Scores(np.array([float(t.sample < int(t.task.id[1:])) for t in group]))


def pool_of(world, count=5):
    return task_pool([world.task(f"t{i}", kind="x") for i in range(count)])


def test_every_task_is_labelled_with_how_it_went(world, tmp_path):
    found = []
    for options in ({}, {"out": tmp_path}, {"out": tmp_path, "resume": True}):
        site = world.site(tasks=pool_of(world), reward=by_name, **options)
        before = world.weights(site.engine)
        (row,) = probe(label="known", samples=4, groups=2, arguments=world.PLAY)(site)
        assert row["tasks"] == 5 and row["known"] == pytest.approx(0.5)
        found.append([(one.id, one.metadata) for one in site.tasks.tasks])
        assert world.same(before, world.weights(site.engine))
    assert found[0] == found[1] == found[2]
    assert found[0] == [(f"t{i}", {"kind": "x", "known": i / 4}) for i in range(5)]


def test_tasks_that_cannot_be_labelled(world):
    with pytest.raises(InputError, match=r"probe changes which tasks there are: .*task_pool"):
        probe(arguments=world.PLAY)(world.site())
