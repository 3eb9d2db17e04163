import pytest

from handaxe.core.errors import InputError
from handaxe.worlds.arithmetic import arithmetic
from handaxe.worlds.world import DemonstrationNoise, Start, World


def test_need_returns_a_field_and_names_a_missing_one():
    world = arithmetic()
    assert world.need("expert") is world.expert and world.need("breakdown") == ("difficulty",)
    bare = World(name="bare", tasks=world.tasks, env=world.env, correct=world.correct)
    for field in ("expert", "start", "tools", "breakdown", "gauges"):
        with pytest.raises(InputError, match=f"world 'bare' has no '{field}', which this method needs"):
            bare.need(field)


def test_default_noise_is_the_exact_expert():
    assert DemonstrationNoise() == DemonstrationNoise(call_rate=1.0, spurious_rate=0.0, corrupt_rate=0.0)
    assert Start().noise == DemonstrationNoise() and Start().warmup == ()
