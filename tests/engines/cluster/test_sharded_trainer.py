"""Probes before sharding, on one process; test_engine.py trains on several ranks."""

import pytest

from handaxe.core.errors import InputError
from handaxe.engines.cluster.sharded_trainer import ShardedOptions, ShardedTrainer, probe_model
from handaxe.models.tiny import TinyConfig, TinyModel

CONFIG = TinyConfig(vocab_size=24, width=8, layers=1, heads=1, max_length=20)


def test_probe_model_returns_the_model_in_its_mode():
    model = TinyModel.new(CONFIG)
    training = model.module.training
    assert probe_model(model) is model and model.module.training == training


def test_probe_model_refuses_a_head_that_is_no_matrix_product(monkeypatch):
    model = TinyModel.new(CONFIG)
    monkeypatch.setattr(type(model), "linear_head", lambda self: None)
    with pytest.raises(InputError, match="train it with LocalEngine"):
        probe_model(model)


def test_a_trainer_needs_a_process_group():
    with pytest.raises((RuntimeError, ValueError), match="process group"):
        ShardedTrainer(TinyModel.new(CONFIG), ShardedOptions())
