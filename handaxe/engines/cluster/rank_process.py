"""Process of a rank: holds the rank's shards of models, in a process group."""

from __future__ import annotations

import gc
import os
import socket
import sys
import threading
import traceback
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import torch
from torch import distributed as dist

from handaxe.core.model_api import Model
from handaxe.engines.cluster.meta_model import meta_model
from handaxe.engines.cluster.sharded_trainer import ShardedOptions, ShardedTrainer, probe_model

__all__ = ["RankProcess"]


class RankProcess:
    """A rank of `PipedRanks` or `RayRanks`. All methods except `stack` run in a single thread."""

    def __init__(self, rank: int, count: int, device: str):
        self._rank, self._count = rank, count
        self._device = device
        self._models: dict[int, Model] = {}
        self._trainers: dict[int, ShardedTrainer] = {}
        self._thread = threading.get_ident()

    def describe(self) -> dict[str, Any]:
        """Process id and node, and a rendezvous address: the machine's host and a free port."""
        host = node = "127.0.0.1"
        if (ray := sys.modules.get("ray")) is not None and ray.is_initialized():
            host, node = ray.util.get_node_ip_address(), ray.get_runtime_context().get_node_id()
        with socket.socket() as probe:
            probe.bind(("", 0))
            return {"pid": os.getpid(), "node": node, "host": host, "port": probe.getsockname()[1]}

    def join_group(self, host: str, port: int, timeout: float) -> None:
        """Join the process group."""
        self._thread = threading.get_ident()
        if host == "127.0.0.1":
            os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
        if self._device != "cpu":
            torch.cuda.set_device(self._device)
        dist.init_process_group(
            "gloo" if self._device == "cpu" else "nccl",
            init_method=f"tcp://{host}:{port}",
            rank=self._rank,
            world_size=self._count,
            timeout=timedelta(seconds=timeout),
        )

    def load(self, key: int, load: Callable[[], Any]) -> Model:
        """Load a model on rank 0; returns its meta model, for the other ranks and the driver."""
        loaded = load()
        self._models[key] = probe_model(loaded[0] if isinstance(loaded, tuple) else loaded)
        return meta_model(self._models[key])

    def build(self, key: int, model: Model | None, options: ShardedOptions) -> None:
        """Create the trainer of a model and receive this rank's shard; `model` None: the model loaded on rank 0."""
        unsharded = self._models.pop(key) if model is None else model
        self._trainers[key] = ShardedTrainer(unsharded, options, device=self._device)

    def share(self, key: int, other: int) -> None:
        """Keep the untrained weights of two equal models once."""
        self._trainers[key].share_untrained(self._trainers[other])

    def weight_bytes(self) -> int:
        """Bytes of the weights of all models on this rank; shared memory counts once."""
        storages = [p.untyped_storage() for one in self._trainers.values() for p in one.parameters()]
        return sum({one.data_ptr(): one.nbytes() for one in storages}.values())

    def unload(self, key: int) -> None:
        """Release a model."""
        self._models.pop(key, None)
        self._trainers.pop(key, None)

    def call(self, key: int, method: str, *arguments: Any) -> Any:
        """Call a method of the model's `ShardedTrainer`."""
        return getattr(self._trainers[key], method)(*arguments)

    def free_cached_memory(self) -> None:
        """Return cached GPU memory to the system."""
        gc.collect()
        if self._device != "cpu":
            torch.cuda.empty_cache()

    def stack(self) -> str:
        """The innermost stack frames of the working thread, for an error message."""
        frame = sys._current_frames().get(self._thread)
        lines = [] if frame is None else traceback.extract_stack(frame)[-12:]
        return " < ".join(f"{line.name} ({os.path.basename(line.filename)}:{line.lineno})" for line in reversed(lines))
