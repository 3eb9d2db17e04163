"""Engines with one fault in training each, and the messages of `check_engine`."""

import pytest
import torch

from handaxe.core.batch import LossOut
from handaxe.core.errors import CheckpointError, TrainingError
from handaxe.engines.local.engine import LocalEngine
from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.testing import engine_training
from handaxe.testing.engine_case import EngineCase

CONFIG = TinyConfig(vocab_size=20, width=8, layers=1, heads=2, max_length=18)


def make_model():
    return TinyModel(TinyModel.new(CONFIG, seed=2).module, pad_id=3)


def gradient(engine):
    return {name: p.grad for name, p in engine.model.module.named_parameters()}


def weights(engine):
    return dict(engine.model.module.named_parameters())


def case(kind, folder):
    return EngineCase(lambda: kind(make_model(), reference=True), make_model, folder, 1e-5, gradient, weights, True)


class OwnMean(LocalEngine):
    """Divides by the present rows: correct for the whole batch, wrong for its parts."""

    def forward_backward(self, batch, loss):
        return super().forward_backward(batch, lambda o, b: LossOut(loss(o, b).value * 5 / len(b), loss(o, b).metrics))


class Forgets(LocalEngine):
    def forward_backward(self, batch, loss):
        self._optimizer.zero_grad()
        return super().forward_backward(batch, loss)


class NoEntropyGradient(LocalEngine):
    def forward_backward(self, batch, loss):
        def cut(out, batch):
            entropy_BT = out.entropy().detach()
            return loss(out.__class__(out.logp_BT, lambda: entropy_BT), batch)

        return super().forward_backward(batch, cut)


class ClippedNorm(LocalEngine):
    def optim_step(self, *, learning_rate):
        metrics = super().optim_step(learning_rate=learning_rate)
        return {**metrics, "grad_norm": min(metrics["grad_norm"], 0.01)}


class NoVersion(LocalEngine):
    def optim_step(self, *, learning_rate):
        metrics = super().optim_step(learning_rate=learning_rate)
        self.version = 0
        return metrics


class Uphill(LocalEngine):
    def optim_step(self, *, learning_rate):
        for p in self._trained.values():
            p.grad.neg_()
        return super().optim_step(learning_rate=learning_rate)


class PlainGradient(LocalEngine):
    """Gradient descent instead of AdamW: downhill, with another step length."""

    def optim_step(self, *, learning_rate):
        before = {p: (p.detach().clone(), p.grad.clone()) for p in self._trained.values()}
        metrics = super().optim_step(learning_rate=learning_rate)
        with torch.no_grad():
            for p, (old, g) in before.items():
                p.copy_(old - learning_rate * g)
        return metrics


class SwallowsNan(LocalEngine):
    def forward_backward(self, batch, loss):
        try:
            return super().forward_backward(batch, loss)
        except TrainingError:
            return LossOut(torch.zeros(()), {})


class KeepsTheRest(LocalEngine):
    """Refuses the NaN loss, but keeps the earlier gradient."""

    def forward_backward(self, batch, loss):
        kept = {p: p.grad for p in self._trained.values()}
        try:
            return super().forward_backward(batch, loss)
        except TrainingError:
            for p, g in kept.items():
                p.grad = g
            raise


class NoMoments(LocalEngine):
    def load(self, folder):
        super().load(folder)
        self._optimizer.state.clear()


class LosesVersion(LocalEngine):
    def load(self, folder):
        super().load(folder)
        self.version = 0


class LoadsAnything(LocalEngine):
    def load(self, folder):
        try:
            super().load(folder)
        except CheckpointError:
            self.version = 0


class MovingReference(LocalEngine):
    def forward(self, batch, *, reference=False, names=("logp",)):
        return super().forward(batch, names=names)


@pytest.mark.parametrize(
    "check, kind, words",
    [
        ("check_gradient", Forgets, "the gradient of embed"),
        ("check_gradient", NoEntropyGradient, "the gradient of embed"),
        ("check_gradient", ClippedNorm, "grad_norm, before clipping"),
        ("check_splits", OwnMean, r"in micro-batches \(row by row\)"),
        ("check_splits", Forgets, r"row by row"),
        ("check_step", NoVersion, "raises the version"),
        ("check_step", Uphill, "must lower the loss"),
        ("check_step", PlainGradient, "AdamW's first step"),
        ("check_bad_loss", SwallowsNan, "a loss of NaN must be refused with TrainingError"),
        ("check_bad_loss", KeepsTheRest, "gradient was dropped must be refused with TrainingError"),
        ("check_checkpoint", NoMoments, "one step after loading"),
        ("check_checkpoint", LosesVersion, "version 2 was saved"),
        ("check_damaged_checkpoint", LoadsAnything, "must be refused with CheckpointError"),
        ("check_reference", MovingReference, "training moved the reference"),
    ],
)
def test_fault_in_training_raises(tmp_path, check, kind, words):
    checks = {name: function for name, function in vars(engine_training).items() if name.startswith("check_")}
    with pytest.raises(AssertionError, match=words):
        checks[check](case(kind, tmp_path))
    checks[check](case(LocalEngine, tmp_path / "good"))
