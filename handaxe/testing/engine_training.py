"""Engine contract for training: gradients, steps, checkpoints, the reference model.

Run by `check_engine`; each check takes the case and raises AssertionError.
"""

from __future__ import annotations

from functools import partial

import torch

from handaxe.core.batch import Batch, LossOut, PolicyOut
from handaxe.core.errors import CheckpointError, TrainingError
from handaxe.core.records import Sampling
from handaxe.testing.engine_case import (
    EngineCase,
    assert_close,
    assert_raises,
    compare_gradient,
    example_batch,
    example_loss,
    example_requests,
    oracle_loss,
    train_steps,
)

__all__ = [
    "check_bad_loss",
    "check_checkpoint",
    "check_damaged_checkpoint",
    "check_gradient",
    "check_reference",
    "check_splits",
    "check_step",
]


def check_gradient(case: EngineCase) -> None:
    """Compare loss and gradient with the oracle, over one and two calls."""
    engine, batch = case.make_engine(), example_batch(case.make_model(), padding=2)
    value, gradient = oracle_loss(case.make_model(), batch)
    got = engine.forward_backward(batch, example_loss)
    assert_close("the loss", got.value, torch.tensor(value), case.tolerance)
    assert_close("the loss as a metric", torch.tensor(got.metrics["loss"]), torch.tensor(value), case.tolerance)
    compare_gradient(case, engine, gradient)
    engine.forward_backward(batch, example_loss)
    compare_gradient(case, engine, gradient, times=2.0, where=", gathered twice")
    norm = torch.stack([g.double().norm() for g in gradient.values()]).norm()
    got_norm = torch.tensor(engine.optim_step(learning_rate=1e-3)["grad_norm"])
    assert_close("grad_norm, before clipping, of the same batch twice", got_norm, 2 * norm, case.tolerance)


def check_splits(case: EngineCase) -> None:
    """Compare loss and gradient over micro-batches, orders and padding."""
    model = case.make_model()
    batch = example_batch(model)
    value, gradient = oracle_loss(model, batch)
    norm = torch.stack([g.double().norm() for g in gradient.values()]).norm()
    wide = example_batch(model, padding=7)
    rows = [torch.tensor([row]) for row in range(len(batch))]
    splits = {
        "whole": [batch],
        "padded": [wide],
        "row by row": [batch.rows(row) for row in rows],
        "backwards, padding kept": [wide.map(partial(torch.index_select, dim=0, index=row)) for row in rows[::-1]],
        "unequal parts": [batch.rows(torch.tensor([3, 0])), wide.rows(torch.tensor([4, 1, 2]))],
    }
    for name, parts in splits.items():
        engine = case.make_engine()
        got = sum(engine.forward_backward(part, example_loss).value.item() for part in parts)
        assert_close(f"the loss in micro-batches ({name})", torch.tensor(got), torch.tensor(value), case.tolerance)
        compare_gradient(case, engine, gradient, where=f" in micro-batches ({name})")
        got_norm = torch.tensor(engine.optim_step(learning_rate=1e-3)["grad_norm"])
        assert_close(f"grad_norm in micro-batches ({name})", got_norm, norm, case.tolerance)


def check_step(case: EngineCase) -> None:
    """Check an AdamW step: version, metrics, and weights moved against the gradient."""
    engine = case.make_engine()
    model = case.make_model()
    rate = 1e-4
    batch, requests = example_batch(model), example_requests(model, Sampling(max_tokens=3))
    before, gradient = oracle_loss(model, batch)
    assert engine.version == 0, f"a fresh engine has version 0, not {engine.version}"
    assert {v for done in engine.sample(requests) for v in done.version} == {0}, "the first weights are version 0"
    engine.forward_backward(batch, example_loss)
    metrics = engine.optim_step(learning_rate=rate)
    assert "grad_norm" in metrics and all(isinstance(v, float) for v in metrics.values()), f"odd metrics: {metrics}"
    assert engine.version == 1, "optim_step raises the version by 1"
    assert {v for done in engine.sample(requests) for v in done.version} == {1}, "after one step tokens are version 1"
    after = engine.forward_backward(batch, example_loss).value.item()
    assert after < before, f"a small step along the gradient must lower the loss, {before} became {after}"
    if case.weights is None:
        return
    moved = case.weights(engine)
    for name, weight in model.module.named_parameters():
        g = gradient.get(name, torch.zeros_like(weight, device="cpu"))
        large = g.abs() > 1e-3 * max(float(each.abs().max()) for each in gradient.values())
        change = (moved[name].detach().cpu() - weight.detach().cpu())[large] / rate
        assert_close(f"AdamW's first step of {name}, in units of the learning rate", change, -g[large].sign(), 0.02)


def check_bad_loss(case: EngineCase) -> None:
    """Check the error of a NaN loss, and unchanged weights."""

    def broken(out: PolicyOut, batch: Batch) -> LossOut:
        del batch
        return LossOut(out.logp_BT.sum() * float("nan"), {"of_this_test": float("nan")})

    engine, batch = case.make_engine(), example_batch(case.make_model())
    before = engine.forward(batch)["logp"]
    engine.forward_backward(batch, example_loss)
    message = assert_raises(TrainingError, lambda: engine.forward_backward(batch, broken), "a loss of NaN")
    assert "of_this_test" in message, f"the error must name the metric that is not finite: {message}"
    assert_raises(TrainingError, lambda: engine.optim_step(learning_rate=1e-3), "a step whose gradient was dropped")
    assert engine.version == 0, "a step that was refused must not raise the version"
    assert torch.equal(engine.forward(batch)["logp"], before), "a loss of NaN must leave the weights alone"


def check_checkpoint(case: EngineCase) -> None:
    """Compare an engine restored from a checkpoint with the original."""
    first = case.make_engine()
    second = case.make_engine()
    model = case.make_model()
    batches = [example_batch(model, seed=seed) for seed in range(3)]
    train_steps(first, batches[:2])
    first.save(case.folder / "checkpoint")
    train_steps(second, batches[2:])  # so that loading has something to replace
    second.load(case.folder / "checkpoint")
    assert second.version == 2, f"version 2 was saved and {second.version} loaded"
    saved, loaded = (engine.forward(batches[0])["logp"] for engine in (first, second))
    assert_close("logp after loading", loaded, saved, case.tolerance)
    train_steps(first, batches[2:])
    train_steps(second, batches[2:])
    one, other = (engine.forward(batches[0])["logp"] for engine in (first, second))
    assert_close("logp one step after loading, against the run that was not interrupted", other, one, case.tolerance)


def check_damaged_checkpoint(case: EngineCase) -> None:
    """Check the error of a damaged checkpoint, and an unchanged engine."""
    engine, batch = case.make_engine(), example_batch(case.make_model())
    engine.save(case.folder / "damaged")
    before = engine.forward(batch)["logp"]
    assert_raises(CheckpointError, lambda: engine.load(case.folder / "nowhere"), "a folder that is not there")
    largest = max((p for p in (case.folder / "damaged").glob("*") if p.is_file()), key=lambda p: p.stat().st_size)
    largest.write_bytes(largest.read_bytes()[: largest.stat().st_size // 2])
    message = assert_raises(CheckpointError, lambda: engine.load(case.folder / "damaged"), f"half of {largest.name}")
    assert largest.name in message, f"the error must name the damaged file {largest.name}: {message}"
    assert torch.equal(engine.forward(batch)["logp"], before), "a load that failed must leave the engine as it was"


def check_reference(case: EngineCase) -> None:
    """Compare the reference model with the initial policy, before and after training."""
    engine, batch = case.make_engine(), example_batch(case.make_model())
    first = engine.forward(batch)["logp"]
    frozen = engine.forward(batch, reference=True)["logp"]
    assert torch.equal(frozen, first), "before the first step the reference model is the policy, to the bit"
    train_steps(engine, [batch])
    assert torch.equal(engine.forward(batch, reference=True)["logp"], frozen), "training moved the reference model"
    assert not torch.equal(engine.forward(batch)["logp"], first), "training did not move the policy"
