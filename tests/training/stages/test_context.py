import pytest

from handaxe.core.errors import InputError
from handaxe.core.protocols import Stateful
from handaxe.training.stages.context import Absent, make_site


def test_a_role_that_is_not_there_says_so_when_it_is_asked(world):
    site = make_site(engine=world.make_engine(), format=world.FORMAT, reward=world.small_bytes, why="it has none here")
    assert site.reward is world.small_bytes and site.seed == 0 and site.out is None
    with pytest.raises(InputError, match="asks for the site's env, and it has none here"):
        site.env(world.task("a"))
    with pytest.raises(InputError, match="site's tasks"):
        site.tasks.next(0, 1)
    with pytest.raises(InputError, match="site's sampling"):
        _ = site.sampling.temperature
    assert isinstance(site.tasks, Absent) and not isinstance(site.tasks, Stateful)
