"""A single rank in this process; test_engine.py has the tests with several ranks."""

import os

import pytest
import torch
from safetensors.torch import load
from torch import distributed

from handaxe.core.errors import CheckpointError
from handaxe.engines.cluster.rank_process import RankProcess
from handaxe.engines.cluster.sharded_trainer import ShardedOptions
from handaxe.engines.local.engine import LocalEngine
from handaxe.models.tiny import TinyConfig, TinyModel

CONFIG = TinyConfig(vocab_size=24, width=8, layers=1, heads=1, max_length=20)


def test_single_rank_loads_saves_and_unloads(tmp_path):
    rank = RankProcess(0, 1, "cpu")
    described = rank.describe()
    assert described["pid"] == os.getpid() and "test_single_rank" in rank.stack()
    rank.join_group(described["host"], described["port"], 60.0)
    try:
        meta = rank.load(1, lambda: (TinyModel.new(CONFIG), "a chat format"))
        assert all(p.is_meta for p in meta.module.parameters())
        rank.build(1, None, ShardedOptions(reference=True))
        parameters = dict(TinyModel.new(CONFIG).module.named_parameters())
        assert rank.call(1, "local_sizes")["parameters"] == sum(p.numel() for p in parameters.values())
        found = load(rank.call(1, "gather", [f"weights.{name}" for name in parameters]))
        assert all(torch.equal(found[f"weights.{name}"], p) for name, p in parameters.items())
        rank.call(1, "save", tmp_path / "kept", 3, torch.get_rng_state())
        local = LocalEngine(TinyModel.new(CONFIG, seed=5), reference=True)
        local.load(tmp_path / "kept")
        assert local.version == 3
        assert all(torch.equal(p, parameters[name]) for name, p in local.model.module.named_parameters())
        names, version, _ = rank.call(1, "open_checkpoint", tmp_path / "kept")
        assert version == 3 and set(names) == set(rank.call(1, "checkpoint_names"))
        with pytest.raises(CheckpointError, match="no checkpoint"):
            rank.call(1, "open_checkpoint", tmp_path / "nowhere")
        rank.unload(1)
        with pytest.raises(KeyError):
            rank.call(1, "local_sizes")
    finally:
        distributed.destroy_process_group()
