"""Checks without other ranks; test_rank_process.py and test_engine.py have the tests with ranks."""

import torch

from handaxe.engines.cluster.sharded_checkpointing import ShardedCheckpointing
from handaxe.models.tiny import TinyConfig, TinyModel


def test_checkpoint_names_equal_those_of_one_process():
    rank = ShardedCheckpointing()
    rank.model, rank._reference = TinyModel.new(TinyConfig(width=8, layers=1, heads=1)), None
    rank._trained = {f"weights.{name}": p for name, p in rank.model.module.named_parameters()}
    rank._optimizer = torch.optim.AdamW(rank._trained.values())
    assert rank.checkpoint_names() == list(rank._trained) and rank.tensor_sizes()["weights.norm.weight"] == 32
