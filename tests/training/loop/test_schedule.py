import pytest

from handaxe.core.errors import InputError
from handaxe.training.loop.schedule import cosine, rate_at, warmup


def test_the_examples():
    assert [warmup(1.0, steps=4)(step) for step in range(6)] == [0.25, 0.5, 0.75, 1, 1, 1]
    assert [cosine(1.0, steps=4)(step) for step in range(6)] == pytest.approx(
        [1, 0.853553, 0.5, 0.146447, 0, 0], abs=1e-6
    )
    assert [cosine(2.0, steps=4, warmup_steps=2, floor=1.0)(step) for step in range(5)] == pytest.approx(
        [1, 2, 2, 1.5, 1]
    )
    assert rate_at(0.5, 7) == 0.5 and rate_at(lambda step: step / 2, 7) == 3.5


def test_what_does_not_fit():
    with pytest.raises(InputError):
        warmup(1.0, steps=0)
    with pytest.raises(InputError):
        cosine(1.0, steps=4, warmup_steps=4)


def test_the_loop_asks_for_each_step(world):
    from handaxe.training.loop.train import train

    result = train(**world.arguments(steps=3, learning_rate=warmup(0.01, steps=2)))
    assert [one["learning_rate"] for one in result.metrics] == pytest.approx([0.005, 0.01, 0.01])
