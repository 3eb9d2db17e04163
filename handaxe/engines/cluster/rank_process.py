"""What runs in the process of one rank: parts of one or more models, all in one process group."""

from __future__ import annotations

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
from handaxe.engines.cluster.sharded import ShardedOptions, ShardedTrainer, probed

__all__ = ["RankProcess"]


class RankProcess:
    """A rank; made by `PipedRanks` or `RayRanks`. Every method but `where` runs in the same thread, one at a time."""

    def __init__(self, rank: int, count: int, device: str):
        self._rank, self._count = rank, count
        self._device = device
        self._models: dict[int, Model] = {}
        self._trainers: dict[int, ShardedTrainer] = {}
        self._thread = threading.get_ident()

    def about(self) -> dict[str, Any]:
        """Its process, and where the others may meet it: an address of its machine and a port that is free there."""
        host = node = "127.0.0.1"
        if (ray := sys.modules.get("ray")) is not None and ray.is_initialized():
            host, node = ray.util.get_node_ip_address(), ray.get_runtime_context().get_node_id()
        with socket.socket() as free:
            free.bind(("", 0))
            return {"pid": os.getpid(), "node": node, "host": host, "port": free.getsockname()[1]}

    def join(self, host: str, port: int, timeout: float) -> None:
        """Meet the other ranks."""
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
        """Load a model, on rank 0; what the other ranks and the driver need to know of it."""
        found = load()
        self._models[key] = probed(found[0] if isinstance(found, tuple) else found)
        return meta_model(self._models[key])

    def build(self, key: int, model: Model | None, options: ShardedOptions) -> None:
        """Take a part of the model that rank 0 has loaded."""
        given = self._models.pop(key) if model is None else model
        self._trainers[key] = ShardedTrainer(given, options, device=self._device)

    def forget(self, key: int) -> None:
        """Let go of a model."""
        self._models.pop(key, None)
        self._trainers.pop(key, None)

    def call(self, key: int, method: str, *arguments: Any) -> Any:
        """What a method of `ShardedTrainer` gives."""
        return getattr(self._trainers[key], method)(*arguments)

    def where(self) -> str:
        """What it is doing right now: the innermost lines of its thread, for an error."""
        frame = sys._current_frames().get(self._thread)
        lines = [] if frame is None else traceback.extract_stack(frame)[-12:]
        return " < ".join(f"{line.name} ({os.path.basename(line.filename)}:{line.lineno})" for line in reversed(lines))
