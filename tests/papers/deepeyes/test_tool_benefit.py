import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Scores
from handaxe.curricula.task_pool import task_pool
from handaxe.envs.tool_chat import tool_chat
from handaxe.papers.deepeyes.tool_benefit import tool_benefit
from handaxe.tools.calculator import calculator

WITH = {"a": 4, "b": 2, "c": 3, "d": 1, "e": 0}
WITHOUT = {"a": 4, "b": 2, "c": 0, "d": 3, "e": 0}


def right(group):
    """Of four attempts as many as the tables say; whether tools are offered is to be seen in the attempt."""
    shares = WITH if group[0].tools else WITHOUT
    return Scores(np.array([float(one.sample < shares[one.task.id]) for one in group]))


def chosen(world, tmp_path=None, **options):
    pool = task_pool([world.task(name) for name in WITH], shuffle=False)
    kept = {} if tmp_path is None else {"out": tmp_path, **options.pop("site", {})}
    site = world.site(tasks=pool, env=tool_chat([calculator]), **kept)
    rows = tool_benefit(reward=right, samples=4, **options)(site)
    return site, rows


def test_tool_benefit_matches_its_example(world, tmp_path):
    for more in ({}, {"site": {"resume": True}}):
        site, rows = chosen(world, tmp_path, least=1, **more)
        assert [one.id for one in site.tasks.tasks] == ["c", "b", "d"]
        assert [one.metadata["with"] - one.metadata["without"] for one in site.tasks.tasks] == [0.75, 0, -0.5]
        assert [row["step"] for row in rows] == [0, 1, 2, 3] and rows[-1]["tasks"] == 3


def test_most_and_least_bound_the_number_of_tasks(world):
    assert [one.id for one in chosen(world, least=1, most=2)[0].tasks.tasks] == ["c", "b"]
    assert [one.id for one in chosen(world, least=4)[0].tasks.tasks] == ["c", "a", "b", "d"]


def test_tool_benefit_rejects_invalid_arguments(world):
    with pytest.raises(InputError, match="samples is 0"):
        tool_benefit(reward=right, samples=0)
    with pytest.raises(InputError, match="task_pool"):
        tool_benefit(reward=right)(world.site())
