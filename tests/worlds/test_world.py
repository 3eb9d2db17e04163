import pytest

from handaxe.core.errors import InputError
from handaxe.worlds.sums import sums
from handaxe.worlds.world import DemonstrationNoise, Start, World


def test_need_gives_what_is_there_and_names_what_is_missing():
    world = sums()
    assert world.need("expert") is world.expert and world.need("by") == ("difficulty",)
    bare = World(name="bare", tasks=world.tasks, env=world.env, correct=world.correct)
    for field in ("expert", "start", "tools", "by", "gauges"):
        with pytest.raises(InputError, match=f"world 'bare' has no '{field}', which this recipe needs"):
            bare.need(field)


def test_a_habit_is_the_experts_unless_told_otherwise():
    assert DemonstrationNoise() == DemonstrationNoise(needed=1.0, needless=0.0, clumsy=0.0)
    assert Start().habit == DemonstrationNoise() and Start().lessons == ()
