import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Scores
from handaxe.curricula.task_pool import task_pool
from handaxe.papers.reagent_v.importance_filter import importance_filter

IMPORTANCE = {"a": 8.0, "b": 4.0, "c": 2.0}


def rated(group):
    """The example's importances, as a reward from 0 to 1."""
    return Scores(np.full(len(group), IMPORTANCE[group[0].task.id] / 10))


@pytest.mark.parametrize("keep, least, kept", [("hard", 1, "bc"), ("hard", 3, "abc"), ("all", 1, "abc")])
def test_importances_8_4_2_below_5_keep_the_second_and_third(world, keep, least, kept):
    pool = task_pool([world.task(name) for name in IMPORTANCE], shuffle=False)
    site = world.site(tasks=pool)
    rows = importance_filter(reward=rated, keep=keep, samples=2, least=least)(site)
    assert [one.id for one in site.tasks.tasks] == list(kept)
    assert [row["step"] for row in rows] == [0, 1] and rows[-1]["tasks"] == len(kept)
    for one in site.tasks.tasks:
        assert one.metadata["importance"] == pytest.approx(IMPORTANCE[one.id] / 10)


@pytest.mark.parametrize("bad", [{"samples": 0}, {"threshold": 11.0}, {"threshold": -1.0}, {"keep": "some"}])
def test_invalid_arguments_raise(bad):
    with pytest.raises(InputError, match="1 or more, 0 to 10, and hard or all"):
        importance_filter(reward=rated, **bad)
