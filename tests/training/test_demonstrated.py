import numpy as np
import pytest

from handaxe.engines.local import LocalEngine
from handaxe.errors import InputError
from handaxe.models.load import load
from handaxe.training.demonstrated import demonstrated
from handaxe.training.site import make_site
from handaxe.worlds.renamed_sums import renamed_sums, with_names
from handaxe.worlds.sums import sums
from handaxe.worlds.world import Habit


@pytest.fixture(scope="module")
def site():
    policy = load("tiny")
    return make_site(engine=LocalEngine(policy.model), format=policy.format)


def test_the_expert_is_shown_and_what_it_says_is_learnt(site):
    world = sums()
    shown = demonstrated(world=world, count=12)(site)
    assert len(shown) == 12
    for rated, task in zip(shown, world.tasks("train", 12, 0), strict=True):
        assert rated.group.task == task and world.correct(rated.group).outcome[0] == 1
        assert np.array_equal(rated.advantages.tokens[0][0], rated.group[0].sequences[0].mask)


def test_the_same_seed_says_the_same(site):
    def ids(**options):
        return [one.group[0].sequences[0].ids.tolist() for one in demonstrated(world=sums(), count=4, **options)(site)]

    assert ids() == ids() != ids(seed=1)


def test_a_habit_and_other_tasks(site):
    lazy = demonstrated(world=sums(easy=0.0), count=8, habit=Habit(needed=0.0))(site)
    assert not any(one.group[0].calls for one in lazy)
    world = renamed_sums()
    for one in demonstrated(world=world, count=4, tasks=lambda tasks: with_names(tasks, share=1.0))(site):
        assert one.group.task.metadata["renamed"] == "yes" and world.correct(one.group).outcome[0] == 1


def test_what_cannot_be():
    with pytest.raises(InputError, match="0 conversations"):
        demonstrated(world=sums(), count=0)
