"""Half-precision weights train by float32 masters: no lost step, exact resumption."""

import pytest
import torch

from handaxe.core.batch import LossOut
from handaxe.engines.local.engine import LocalEngine
from handaxe.engines.local.master_weights import gradients_to_masters, optimized_parameters
from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.testing.engine_case import example_batch, example_loss

CONFIG = TinyConfig(vocab_size=24, width=16, layers=2, heads=2, max_length=20)


def engine(dtype=torch.bfloat16, **options):
    return LocalEngine(TinyModel(TinyModel.new(CONFIG, seed=1).module.to(dtype), pad_id=0), **options)


def train(trained, steps, learning_rate=1e-5):
    batch = example_batch(trained.model)
    for _ in range(steps):
        trained.forward_backward(batch, example_loss)
        trained.optim_step(learning_rate=learning_rate)


@pytest.mark.slow
def test_small_steps_add_up_in_bfloat16():
    """A step of 1e-5 is below the rounding of most weights; AdamW on bfloat16 weights alone would lose it."""
    half, single = engine(), engine(torch.float32)
    train(half, 300)
    train(single, 300)
    start = engine(torch.float32)._trained
    ways = [
        torch.cat([(p.float() - start[name]).flatten() for name, p in one._trained.items()]) for one in (half, single)
    ]
    assert torch.cosine_similarity(*ways, dim=0) > 0.8
    for name, master in half._optimized.items():
        assert master.dtype == torch.float32 and torch.equal(master.bfloat16(), half._trained[name])


def test_float32_and_float64_parameters_are_their_own_masters():
    for dtype in (torch.float32, torch.float64):
        trained = engine(dtype)
        assert all(trained._optimized[name] is p for name, p in trained._trained.items())
        assert not any(name.startswith("master.") for name in trained.state_dict()["tensors"])


def test_gradient_accumulates_in_float32():
    half = {"w": torch.nn.Parameter(torch.ones(4, dtype=torch.bfloat16))}
    optimized = optimized_parameters(half)
    for _ in range(1000):
        with gradients_to_masters(half, optimized):
            half["w"].sum().backward()
    assert torch.equal(optimized["w"].grad, torch.full((4,), 1000.0)) and half["w"].grad is None


def test_interrupted_bfloat16_training_continues_exactly(tmp_path):
    whole = engine()
    train(whole, 4)
    first, second = engine(), engine()
    train(first, 2)
    first.save(tmp_path / "saved")
    second.load(tmp_path / "saved")
    train(second, 2)
    for name in whole._optimized:
        assert torch.equal(whole._optimized[name], second._optimized[name]), name
    third = engine()
    third.load_state_dict(second.state_dict())
    assert all(torch.equal(third._optimized[name], second._optimized[name]) for name in whole._optimized)


def test_load_weights_resets_the_masters(tmp_path):
    trained, fresh = engine(), engine()
    train(trained, 3)
    trained.save(tmp_path / "saved")
    fresh.load_weights(tmp_path / "saved")
    for name, master in fresh._optimized.items():
        assert torch.equal(master, trained._trained[name].float())


def test_failed_backward_leaves_no_gradient():
    trained = engine()
    batch = example_batch(trained.model)
    with pytest.raises(Exception, match="finite"):
        trained.forward_backward(batch, lambda out, batch: LossOut(out.logp_BT.sum() * float("nan"), {}))
    assert not trained._has_gradient() and all(p.grad is None for p in trained._trained.values())
