"""A rank that is alone, in this process; several are in test_cluster.py."""

import os

import pytest
import torch
from safetensors.torch import load
from torch import distributed

from handaxe.core.errors import CheckpointError
from handaxe.engines.cluster.rank_process import RankProcess
from handaxe.engines.cluster.sharded import ShardedOptions
from handaxe.engines.local.engine import LocalEngine
from handaxe.models.tiny import TinyConfig, TinyModel

CONFIG = TinyConfig(vocab_size=24, width=8, layers=1, heads=1, max_length=20)


def test_a_lone_rank_loads_keeps_and_forgets(tmp_path):
    rank = RankProcess(0, 1, "cpu")
    about = rank.about()
    assert about["pid"] == os.getpid() and "test_a_lone_rank" in rank.where()
    rank.join(about["host"], about["port"], 60.0)
    try:
        bare = rank.load(1, lambda: (TinyModel.new(CONFIG), "a chat format"))
        assert all(p.is_meta for p in bare.module.parameters())
        rank.build(1, None, ShardedOptions(reference=True))
        whole = dict(TinyModel.new(CONFIG).module.named_parameters())
        assert rank.call(1, "held")["parameters"] == sum(p.numel() for p in whole.values())
        found = load(rank.call(1, "gather", [f"weights.{name}" for name in whole]))
        assert all(torch.equal(found[f"weights.{name}"], p) for name, p in whole.items())
        rank.call(1, "save", tmp_path / "kept", 3, torch.get_rng_state())
        local = LocalEngine(TinyModel.new(CONFIG, seed=5), reference=True)
        local.load(tmp_path / "kept")
        assert local.version == 3
        assert all(torch.equal(p, whole[name]) for name, p in local.model.module.named_parameters())
        names, version, _ = rank.call(1, "open", tmp_path / "kept")
        assert version == 3 and set(names) == set(rank.call(1, "kept"))
        with pytest.raises(CheckpointError, match="no checkpoint"):
            rank.call(1, "open", tmp_path / "nowhere")
        rank.forget(1)
        with pytest.raises(KeyError):
            rank.call(1, "held")
    finally:
        distributed.destroy_process_group()
