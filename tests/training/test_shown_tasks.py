import numpy as np
import pytest

from handaxe.engines.local import LocalEngine
from handaxe.errors import InputError
from handaxe.models.compact import Compact
from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.selection.few_tasks import few_tasks
from handaxe.training.shown_tasks import shown_tasks
from handaxe.training.site import make_site
from handaxe.worlds.sums import sums
from handaxe.worlds.world import Habit, World


def site_of(world, count, seed=0):
    engine = LocalEngine(TinyModel.new(TinyConfig(width=8, layers=1, heads=1)))
    tasks = few_tasks(count=count)(world.tasks("train", 40, 0), seed)
    return make_site(engine=engine, format=Compact(), env=world.env(world.tools), tasks=tasks, seed=seed)


def test_the_expert_speaks_about_each_of_the_first_tasks_once():
    world = sums()
    said = shown_tasks(world=world, count=6)(site_of(world, 6))
    assert {one.group.task.id for one in said} == {task.id for task in world.tasks("train", 6, 0)} and len(said) == 6
    for one in said:
        assert world.correct(one.group).outcome.tolist() == [1] and one.trained.all()
        assert np.array_equal(one.advantages.tokens[0][0], one.group[0].sequences[0].mask.astype(float))
    calls = sum(len(one.group[0].calls) for one in said)
    shy = shown_tasks(world=world, count=6, habit=Habit(needed=0.0))(site_of(world, 6))
    assert calls > 0 and sum(len(one.group[0].calls) for one in shy) == 0


def test_what_does_not_fit():
    world = sums()
    with pytest.raises(InputError, match="count of at least 1"):
        shown_tasks(world=world, count=0)
    bare = World(name="bare", tasks=world.tasks, env=world.env, correct=world.correct)
    with pytest.raises(InputError, match="no 'expert'"):
        shown_tasks(world=bare, count=1)
