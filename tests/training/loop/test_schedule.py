import pytest
import torch

from handaxe.core.errors import InputError
from handaxe.training.loop.schedule import cosine, linear, make_schedule, rate_at, warmup


def test_the_examples():
    assert [warmup(1.0, steps=4)(step) for step in range(6)] == [0.25, 0.5, 0.75, 1, 1, 1]
    assert [cosine(1.0, steps=4)(step) for step in range(6)] == pytest.approx(
        [1, 0.853553, 0.5, 0.146447, 0, 0], abs=1e-6
    )
    assert [cosine(2.0, steps=4, warmup_steps=2, floor=1.0)(step) for step in range(5)] == pytest.approx(
        [1, 2, 2, 1.5, 1]
    )
    assert rate_at(0.5, 7) == 0.5 and rate_at(lambda step: step / 2, 7) == 3.5


def test_named_schedules_have_the_values_by_hand():
    """Cosine after 2 of 6 steps of warm-up: 1/2 (1 + cos(pi k / 4)) for k = 0 to 3."""
    rates = make_schedule("cosine", 2.0, steps=6, warmup_steps=2)
    half = 2**-0.5
    assert [rates(step) for step in range(6)] == pytest.approx([1, 2, 2, 1 + half, 1, 1 - half], abs=1e-12)
    rates = make_schedule("linear", 2.0, steps=6, warmup_steps=2)
    assert [rates(step) for step in range(7)] == pytest.approx([1, 2, 2, 1.5, 1, 0.5, 0], abs=1e-12)
    rates = make_schedule("constant", 2.0, steps=6, warmup_steps=4)
    assert [rates(step) for step in range(6)] == [0.5, 1, 1.5, 2, 2, 2]
    assert make_schedule("constant", 2.0, steps=6) == 2.0


def test_decays_agree_with_torch():
    def of_torch(make):
        optimizer = torch.optim.SGD([torch.zeros(1)], lr=0.3)
        scheduler = make(optimizer)
        for _ in range(9):
            yield scheduler.get_last_lr()[0]
            optimizer.step()
            scheduler.step()

    kinds = torch.optim.lr_scheduler
    expected = list(of_torch(lambda o: kinds.CosineAnnealingLR(o, T_max=9)))
    assert [cosine(0.3, steps=9)(step) for step in range(9)] == pytest.approx(expected, abs=1e-12)
    expected = list(of_torch(lambda o: kinds.LinearLR(o, start_factor=1.0, end_factor=0.0, total_iters=9)))
    assert [linear(0.3, steps=9)(step) for step in range(9)] == pytest.approx(expected, abs=1e-12)


def test_what_does_not_fit():
    with pytest.raises(InputError):
        warmup(1.0, steps=0)
    with pytest.raises(InputError):
        cosine(1.0, steps=4, warmup_steps=4)


def test_the_loop_asks_for_each_step(world):
    from handaxe.training.loop.train import train

    result = train(**world.arguments(steps=3, learning_rate=warmup(0.01, steps=2)))
    assert [one["learning_rate"] for one in result.metrics] == pytest.approx([0.005, 0.01, 0.01])
