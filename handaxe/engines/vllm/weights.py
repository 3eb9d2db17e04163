"""Brings an engine's weights to servers: what the engine offers, how they travel, and the proof that they arrived.

    gather all  ->  for each server: pause, caches cleared  ->  start, update, finish(version)  ->  resume  ->  probe

Everything is gathered before anything is sent: a server that waits for a trainer which waits for its ranks never ends.
"""

from __future__ import annotations

import contextlib
import copy
import os
import shutil
import socket
import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from safetensors import SafetensorError
from safetensors.torch import save_file
from torch import Tensor, nn

from handaxe.core.errors import InfrastructureError, InputError
from handaxe.core.records import Sampling
from handaxe.core.requests import Sample
from handaxe.engines.vllm.http import LostError, VllmHttp
from handaxe.engines.vllm.owned_tempdir import OwnedTempdir, clear_left

__all__ = [
    "FileTransport",
    "NcclTransport",
    "ServedPolicy",
    "Transport",
    "gap",
    "probe_row",
    "served_weights",
    "server_logp",
    "write_config",
]

PROBED = 17
"""Ids of the row by which a server is proved."""
NEAR = Path("/dev/shm")
"""Memory that looks like a folder; for servers on this machine."""
SHARED = "HANDAXE_WEIGHTS"
"""The variable that names a folder for weights which servers on other machines see, too."""
PREFIX = "handaxe-weights-"
"""How the names of folders of weights begin."""


class ServedPolicy(NamedTuple):
    """What servers need of the engine whose policy they sample.

    version     the engine's version; recorded with every token
    mark        changes whenever the weights do, also where the version stays (an engine that loads)
    gather      all weights, whole and on the host, by the names of the checkpoint that vLLM reads: `served_weights`
    score       the log-probs of ids[1:] at temperature 1 under the weights of now
    vocab_size  ids are below it
    max_length  most tokens of one sequence
    """

    version: Callable[[], int]
    mark: Callable[[], Hashable]
    gather: Callable[[], Mapping[str, Tensor]]
    score: Callable[[Sequence[int]], Sequence[float]]
    vocab_size: int
    max_length: int


def served_weights(module: nn.Module, tensors: Mapping[str, Tensor] | None = None) -> dict[str, Tensor]:
    """A module's parameters by the names of its checkpoint, a LoRA adapter added into what it adapts.

        W = W_base + scaling * B @ A

    Args:
        module: a causal language model of transformers, or a peft model around one.
        tensors: whole parameters by the names of `module.named_parameters()`, for a module that holds parts of them
            only; None: its own.

    Returns:
        Copies on the host. A tied output layer is left out, as in a checkpoint.

    Raises:
        InputError: for an adapter that is not plain LoRA on linear layers.
    """
    found = dict(module.named_parameters()) if tensors is None else dict(tensors)
    found = {name: tensor.detach().cpu() for name, tensor in found.items()}
    layers = {name: layer for name, layer in module.named_modules() if hasattr(layer, "base_layer")}
    for name, layer in layers.items():
        found[f"{name}.weight"] = _merged(name, layer, found)
        if f"{name}.base_layer.bias" in found:
            found[f"{name}.bias"] = found.pop(f"{name}.base_layer.bias")
    prefix = "base_model.model." if layers else ""
    out = {name.removeprefix(prefix): tensor.clone() for name, tensor in found.items()}
    if left := [name for name in out if "lora_" in name or "modules_to_save" in name]:
        raise InputError(f"servers take LoRA on linear layers only, and this adapter has {left[0]}")
    return out


def write_config(module: Any, folder: Path) -> None:
    """Write the config.json of a model of transformers, or of the one that a peft model is around, so that a server
    knows what to build."""
    base = module.get_base_model() if hasattr(module, "get_base_model") else module
    config = copy.deepcopy(base.config)
    config.architectures = [type(base).__name__]
    config.save_pretrained(folder)


def _merged(name: str, layer: Any, found: dict[str, Tensor]) -> Tensor:
    """The weight of an adapted linear layer; what it is made of is taken out of `found`."""
    weight = found.pop(f"{name}.base_layer.weight")
    for adapter in layer.active_adapters:
        a, b = (found.pop(f"{name}.lora_{part}.{adapter}.weight", None) for part in "AB")
        if a is None or b is None or layer.use_dora.get(adapter, False):
            raise InputError(f"servers take LoRA on linear layers only, and {name} has something else")
        change = layer.scaling[adapter] * (b @ a)
        weight = (weight + (change.T if getattr(layer, "fan_in_fan_out", False) else change)).to(weight.dtype)
    return weight


# --- how weights travel ----------------------------------------------------------------------------------------------


class Transport(Protocol):
    """A way for weights to travel. Every call has a deadline; one that fails raises LostError or InputError, and the
    server is then in the middle of an update: it must be restarted."""

    backend: str
    """The backend of the server's weight transfer."""

    def prepare(self, tensors: Mapping[str, Tensor]) -> None:
        """Hold on to these weights until the next ones; called once for all servers."""
        ...

    def send(self, server: VllmHttp, label: str) -> None:
        """Start, update, finish with `label` as the version."""
        ...

    def close(self) -> None:
        """Let go of everything."""
        ...


class FileTransport:
    """Weights as one safetensors file, which the servers' plugin reads. Servers that were restarted read it again.

    Args:
        folder: where the file goes; every server must see it by the same path. None: the variable HANDAXE_WEIGHTS says,
            else memory that looks like a folder where there is room, else a folder for temporary files; the last two
            for servers on this machine only.
        timeout: seconds a server may take to load it.
    """

    backend = "handaxe"

    def __init__(self, folder: Path | None = None, *, timeout: float = 600.0):
        shared = os.environ.get(SHARED)
        self._timeout, self._given = timeout, folder or (Path(shared) if shared else None)
        self._folder: OwnedTempdir | None = None
        self._file: Path | None = None
        self._count = 0

    def prepare(self, tensors: Mapping[str, Tensor]) -> None:
        """Write them beside the file before, which is then removed."""
        if self._folder is None:
            self._folder = self._new(sum(tensor.numel() * tensor.element_size() for tensor in tensors.values()))
        self._count += 1
        file = self._folder.path / f"{self._count}.safetensors"
        try:
            save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, file)
        except (OSError, SafetensorError) as error:
            file.unlink(missing_ok=True)  # a part of it would fill up the memory that was too small for it
            raise InfrastructureError(f"the weights for the servers cannot be written to {file}: {error}") from error
        if self._file is not None:
            self._file.unlink(missing_ok=True)
        self._file = file

    def _new(self, size: int) -> OwnedTempdir:
        clear_left(NEAR, PREFIX)  # before it is seen how much room there is
        try:
            return OwnedTempdir(PREFIX, self._given or _near(size))
        except OSError as error:
            raise InputError(f"the folder for the servers' weights cannot be used: {error}") from error

    def send(self, server: VllmHttp, label: str) -> None:
        """Have the server load the file."""
        server.post("/start_weight_update")
        server.post("/update_weights", {"update_info": {"path": str(self._file)}}, timeout=self._timeout)
        server.post("/finish_weight_update", {"weight_version": label}, timeout=self._timeout)

    def close(self) -> None:
        """Remove the file."""
        if self._folder is not None:
            self._folder.close()
            self._folder = None


def _near(size: int) -> Path | None:
    """Where two such files have room in memory, or None."""
    with contextlib.suppress(OSError):
        return NEAR if shutil.disk_usage(NEAR).free > 3 * size else None
    return None


class NcclTransport:
    """Weights from this process's GPU to the servers' by vLLM's own NCCL classes. vLLM must be installed here, too.

    Untested: it needs two GPUs, which no test of handaxe has had.

    Args:
        address: this machine's, as the servers' machines know it.
        timeout: seconds that joining the servers' group, and sending, may take each.
    """

    backend = "nccl"

    def __init__(self, address: str = "127.0.0.1", *, timeout: float = 600.0):
        self._address, self._timeout = address, timeout
        self._tensors: dict[str, Tensor] = {}
        self._senders: dict[VllmHttp, Any] = {}

    def prepare(self, tensors: Mapping[str, Tensor]) -> None:
        """Keep them on the GPU; the senders read what is there when they send."""
        self._tensors.clear()
        self._tensors.update({name: tensor.to("cuda") for name, tensor in tensors.items()})

    def send(self, server: VllmHttp, label: str) -> None:
        """Broadcast, in a thread that is given up at the deadline: a broadcast whose other side is gone never ends."""
        if server not in self._senders:
            self._senders[server] = self._in_time(lambda: self._join(server))
        sender = self._senders[server]
        try:
            self._in_time(sender.send_weights)
        except BaseException:
            del self._senders[server]
            raise
        server.post("/update_weight_version", {"new_version": label})

    def close(self) -> None:
        """Leave the servers' groups."""
        for sender in self._senders.values():
            with contextlib.suppress(Exception):
                sender.shutdown()
        self._senders.clear()
        self._tensors.clear()

    def _join(self, server: VllmHttp) -> Any:
        try:
            from vllm.distributed.weight_transfer.base import ParamMeta, WeightSource
            from vllm.distributed.weight_transfer.nccl_engine import (
                NCCLTrainerInitInfo,
                NCCLTrainerWeightTransferEngine,
            )
        except ImportError as error:
            raise InputError(f"sending weights by NCCL needs vllm beside handaxe ({error})") from error
        tensors = self._tensors

        class Source(WeightSource):
            def metadata(self) -> list[Any]:
                return [ParamMeta(name, tensor.dtype, tuple(tensor.shape)) for name, tensor in tensors.items()]

            def __iter__(self) -> Any:
                return iter(tensors.items())

        world = server.get("/get_world_size")["world_size"]
        with socket.socket() as probe:
            probe.bind(("", 0))
            port = probe.getsockname()[1]
        about = NCCLTrainerInitInfo(master_address=self._address, master_port=port, world_size=world + 1, rank=0)
        return NCCLTrainerWeightTransferEngine.trainer_init(
            about, client=_Client(server, self._timeout), source=Source()
        )

    def _in_time(self, work: Callable[[], Any]) -> Any:
        done: list[Any] = []
        failed: list[BaseException] = []

        def run() -> None:
            try:
                done.append(work())
            except BaseException as error:  # handed on below
                failed.append(error)

        thread = threading.Thread(target=run, name="handaxe-nccl", daemon=True)
        thread.start()
        thread.join(self._timeout)
        if failed and isinstance(failed[0], InputError | InfrastructureError):
            raise failed[0]
        if not done:
            why = repr(failed[0]) if failed else f"nothing within {self._timeout:g} s"
            raise LostError(f"sending weights by NCCL failed: {why}")
        return done[0]


class _Client:
    """What vLLM's trainer class asks of a server, over our own HTTP, which has deadlines."""

    def __init__(self, server: VllmHttp, timeout: float):
        self._server, self._timeout = server, timeout

    def init_weight_transfer_engine(self, init_info: dict[str, Any]) -> None:
        self._server.post("/init_weight_transfer_engine", {"init_info": init_info}, timeout=self._timeout)

    def start_weight_update(self) -> None:
        self._server.post("/start_weight_update", timeout=self._timeout)

    def update_weights(self, update_info: Any) -> None:
        self._server.post("/update_weights", {"update_info": update_info}, timeout=self._timeout)

    def finish_weight_update(self, weight_version: str | None = None) -> None:
        body = None if weight_version is None else {"weight_version": weight_version}
        self._server.post("/finish_weight_update", body, timeout=self._timeout)


# --- the proof -------------------------------------------------------------------------------------------------------


def probe_row(vocab_size: int, max_length: int) -> list[int]:
    """The ids whose log-probs are compared: always the same for a model, drawn over its whole vocabulary."""
    draws = np.random.Generator(np.random.Philox(key=13))
    return draws.integers(0, vocab_size, min(PROBED, max_length)).tolist()


def server_logp(server: VllmHttp, ids: Sequence[int], name: str, policy: ServedPolicy, timeout: float) -> list[float]:
    """The log-probs of ids[1:] as the server samples them: one token after another, each forced."""
    request = Sample(ids[:1], Sampling(max_tokens=len(ids) - 1), 0, frozenset())
    limits = {"vocab_size": policy.vocab_size, "max_length": policy.max_length}
    future = server.generate(request, name, **limits, forced=ids[1:])
    try:
        written = future.result(timeout)
    except TimeoutError:
        future.cancel()
        raise LostError(f"the server {server.url} did not measure {len(ids)} tokens within {timeout:g} s") from None
    if written.ids != list(ids[1:]):
        raise LostError(f"the server {server.url} was asked to measure {list(ids[1:])} and wrote {written.ids}")
    return written.logp


def gap(server: Sequence[float], engine: Sequence[float]) -> float:
    """The largest difference, in nats; infinite where one of them is not finite."""
    both = np.array([server, engine], dtype=np.float64)
    return float(np.abs(both[0] - both[1]).max()) if np.isfinite(both).all() else float("inf")
