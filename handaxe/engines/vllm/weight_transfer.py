"""Weight transfer from an engine to vLLM servers: gathering, transport by file or NCCL, verification by a probe.

    gather all  ->  for each server: pause, caches cleared  ->  start, update, finish(version)  ->  resume  ->  probe

`VllmServers.push` runs these steps after every change of weights. All weights are gathered before any is sent, because
a server that waits for a trainer that waits for its ranks would deadlock.
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
from handaxe.core.images import Image
from handaxe.core.model_api import VisionModel
from handaxe.core.records import Sampling
from handaxe.core.requests import Sample
from handaxe.engines.local.sample_requests import SamplingLimits
from handaxe.engines.vllm.image_prompt import image_prompt
from handaxe.engines.vllm.owned_tempdir import OwnedTempdir, remove_stale_dirs
from handaxe.engines.vllm.vllm_http import ServerLostError, VllmHttp

__all__ = [
    "FileTransport",
    "NcclTransport",
    "ProbedRow",
    "ServedPolicy",
    "ServedVision",
    "Transport",
    "image_probe",
    "logp_gap",
    "probe_row",
    "served_weights",
    "server_logp",
    "write_config",
]

PROBE_TOKENS = 17
"""Ids of the probe row."""
IMAGE_SIDE = 64
"""Sides of the probe's image, in pixels."""
SHARED_MEMORY = Path("/dev/shm")
"""Shared memory folder, for servers on this machine."""
SHARED_FOLDER = "HANDAXE_WEIGHTS"
"""Environment variable: folder for weights that servers on other machines see as well."""
PREFIX = "handaxe-weights-"
"""Prefix of the names of weight folders."""


class ServedPolicy(NamedTuple):
    """The engine's interface for servers.

    version     the engine's version; recorded with every token
    stamp       a value that changes with the weights, even at an unchanged version (after `load`)
    gather      all weights, whole and on the host, by checkpoint names as vLLM reads them: `served_weights`
    score       (ids, start=1, images=()) -> log-probs of ids[start:] at temperature 1 under the current weights
    vocab_size  vocabulary size; ids lie below
    max_length  most tokens of a sequence
    model       a model with vision, for requests with image tokens; None for a model of text
    """

    version: Callable[[], int]
    stamp: Callable[[], Hashable]
    gather: Callable[[], Mapping[str, Tensor]]
    score: Callable[..., Sequence[float]]
    vocab_size: int
    max_length: int
    model: ServedVision | None = None


class ServedVision(SamplingLimits, VisionModel, Protocol):
    """Vision model with the limits of a request."""


def served_weights(module: nn.Module, tensors: Mapping[str, Tensor] | None = None) -> dict[str, Tensor]:
    """Parameters of a module by checkpoint name, with LoRA adapters merged.

        W = W_base + scaling * B @ A

    Args:
        module: a causal language model of transformers, or a peft model around one.
        tensors: whole parameters by the names of `module.named_parameters()`, for a sharded or meta module; None: the
            module's parameters.

    Returns:
        Copies on the host. A tied output layer is left out, as in a checkpoint.

    Raises:
        InputError: the adapter is not plain LoRA on linear layers.
    """
    parameters = dict(module.named_parameters()) if tensors is None else dict(tensors)
    parameters = {name: tensor.detach().cpu() for name, tensor in parameters.items()}
    layers = {name: layer for name, layer in module.named_modules() if hasattr(layer, "base_layer")}
    for name, layer in layers.items():
        parameters[f"{name}.weight"] = _merge_lora(name, layer, parameters)
        if f"{name}.base_layer.bias" in parameters:
            parameters[f"{name}.bias"] = parameters.pop(f"{name}.base_layer.bias")
    prefix = "base_model.model." if layers else ""
    out = {name.removeprefix(prefix): tensor.clone() for name, tensor in parameters.items()}
    if unmerged := [name for name in out if "lora_" in name or "modules_to_save" in name]:
        raise InputError(f"servers take LoRA on linear layers only, and this adapter has {unmerged[0]}")
    return out


def write_config(module: Any, folder: Path, *, image_processor: Any = None) -> None:
    """Write the config.json of a transformers model, or of the base model of a peft model, for a server.

    Args:
        module: the model.
        folder: of the file.
        image_processor: of a vision model: `models.image_processors.ProcessorImages`, which writes the files of the
            processor and the tokenizer; a server makes image tokens with them.
    """
    base = module.get_base_model() if hasattr(module, "get_base_model") else module
    config = copy.deepcopy(base.config)
    config.architectures = [type(base).__name__]
    config.save_pretrained(folder)
    if image_processor is not None:
        image_processor.save(folder)


def _merge_lora(name: str, layer: Any, parameters: dict[str, Tensor]) -> Tensor:
    """The merged weight of an adapted linear layer; removes base weight and adapter from `parameters`."""
    weight = parameters.pop(f"{name}.base_layer.weight")
    for adapter in layer.active_adapters:
        a, b = (parameters.pop(f"{name}.lora_{part}.{adapter}.weight", None) for part in "AB")
        if a is None or b is None or layer.use_dora.get(adapter, False):
            raise InputError(f"servers take LoRA on linear layers only, and {name} has another adapter")
        change = layer.scaling[adapter] * (b @ a)
        weight = (weight + (change.T if getattr(layer, "fan_in_fan_out", False) else change)).to(weight.dtype)
    return weight


# --- transports ------------------------------------------------------------------------------------------------------


class Transport(Protocol):
    """Transport of weights to servers. Every call has a deadline. A failed call raises ServerLostError or InputError
    and leaves the server in the middle of an update: restart it."""

    backend: str
    """Weight transfer backend of the server."""

    def prepare(self, tensors: Mapping[str, Tensor]) -> None:
        """Store the weights until the next call; called once for all servers."""
        ...

    def send(self, server: VllmHttp, label: str) -> None:
        """Start, update, and finish with `label` as the version."""
        ...

    def close(self) -> None:
        """Release all resources."""
        ...


class FileTransport:
    """Transport by a safetensors file, read by the plugin in the servers, and again after a restart of a server.

    Args:
        folder: of the file, visible to every server by the same path. None: the folder in the variable HANDAXE_WEIGHTS,
            else shared memory with enough free space, else a temporary folder; the last two for servers on this machine
            only.
        timeout: seconds that a server may take to load the file.
    """

    backend = "handaxe"

    def __init__(self, folder: Path | None = None, *, timeout: float = 600.0):
        shared = os.environ.get(SHARED_FOLDER)
        self._timeout, self._parent = timeout, folder or (Path(shared) if shared else None)
        self._folder: OwnedTempdir | None = None
        self._file: Path | None = None
        self._count = 0

    def prepare(self, tensors: Mapping[str, Tensor]) -> None:
        """Write a new file, then remove the previous one."""
        if self._folder is None:
            self._folder = self._make_folder(sum(t.numel() * t.element_size() for t in tensors.values()))
        self._count += 1
        file = self._folder.path / f"{self._count}.safetensors"
        try:
            save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, file)
        except (OSError, SafetensorError) as error:
            file.unlink(missing_ok=True)  # a partial file would occupy the memory that was too small
            raise InfrastructureError(f"cannot write the weights for the servers to {file}: {error}") from error
        if self._file is not None:
            self._file.unlink(missing_ok=True)
        self._file = file

    def _make_folder(self, size: int) -> OwnedTempdir:
        remove_stale_dirs(SHARED_MEMORY, PREFIX)  # before the free space is measured
        try:
            return OwnedTempdir(PREFIX, self._parent or _shared_memory(size))
        except OSError as error:
            raise InputError(f"cannot use the folder for the servers' weights: {error}") from error

    def send(self, server: VllmHttp, label: str) -> None:
        """Make the server load the file."""
        server.post("/start_weight_update")
        server.post("/update_weights", {"update_info": {"path": str(self._file)}}, timeout=self._timeout)
        server.post("/finish_weight_update", {"weight_version": label}, timeout=self._timeout)

    def close(self) -> None:
        """Remove the file."""
        if self._folder is not None:
            self._folder.close()
            self._folder = None


def _shared_memory(size: int) -> Path | None:
    """Return the shared memory folder if the free space fits two files of this size (three for safety), else None."""
    with contextlib.suppress(OSError):
        return SHARED_MEMORY if shutil.disk_usage(SHARED_MEMORY).free > 3 * size else None
    return None


class NcclTransport:
    """Transport from the GPU of this process to the servers' GPUs by vLLM's NCCL classes; needs an import of vLLM.

    Untested: it needs two GPUs, which no test of handaxe has had.

    Args:
        address: of this machine, reachable from the servers' machines.
        timeout: seconds that joining the servers' group and sending may take, each.
    """

    backend = "nccl"

    def __init__(self, address: str = "127.0.0.1", *, timeout: float = 600.0):
        self._address, self._timeout = address, timeout
        self._tensors: dict[str, Tensor] = {}
        self._senders: dict[VllmHttp, Any] = {}

    def prepare(self, tensors: Mapping[str, Tensor]) -> None:
        """Move the weights to the GPU of the transfer."""
        self._tensors.clear()
        self._tensors.update({name: tensor.to("cuda") for name, tensor in tensors.items()})

    def send(self, server: VllmHttp, label: str) -> None:
        """Broadcast in a thread that is abandoned at the deadline: a broadcast to a lost server never returns."""
        if server not in self._senders:
            self._senders[server] = self._with_timeout(lambda: self._join(server))
        sender = self._senders[server]
        try:
            self._with_timeout(sender.send_weights)
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
            raise InputError(f"sending weights by NCCL needs vllm in handaxe's environment ({error})") from error
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
        info = NCCLTrainerInitInfo(master_address=self._address, master_port=port, world_size=world + 1, rank=0)
        return NCCLTrainerWeightTransferEngine.trainer_init(
            info, client=_Client(server, self._timeout), source=Source()
        )

    def _with_timeout(self, work: Callable[[], Any]) -> Any:
        done: list[Any] = []
        failed: list[BaseException] = []

        def run() -> None:
            try:
                done.append(work())
            except BaseException as error:  # raised below
                failed.append(error)

        thread = threading.Thread(target=run, name="handaxe-nccl", daemon=True)
        thread.start()
        thread.join(self._timeout)
        if failed and isinstance(failed[0], InputError | InfrastructureError):
            raise failed[0]
        if not done:
            reason = repr(failed[0]) if failed else f"no result within {self._timeout:g} s"
            raise ServerLostError(f"sending weights by NCCL failed: {reason}")
        return done[0]


class _Client:
    """Server client of vLLM's trainer class, over `VllmHttp`, which has deadlines."""

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


# --- verification ----------------------------------------------------------------------------------------------------


def probe_row(vocab_size: int, max_length: int) -> list[int]:
    """Ids of the probe: random over the whole vocabulary, equal for equal arguments."""
    generator = np.random.Generator(np.random.Philox(key=13))
    return generator.integers(0, vocab_size, min(PROBE_TOKENS, max_length)).tolist()


class ProbedRow(NamedTuple):
    """A row to measure.

    ids     of the row
    start   of the measured ids
    images  of the image tokens, which all stand before `start`
    """

    ids: list[int]
    start: int = 1
    images: tuple[Image, ...] = ()


def image_probe(policy: ServedPolicy) -> ProbedRow | None:
    """An image of random pixels between ids of the probe row; None without vision, or without room for the image."""
    if policy.model is None:
        return None
    pixels = np.random.Generator(np.random.Philox(key=14)).integers(0, 256, (IMAGE_SIDE, IMAGE_SIDE, 3), np.uint8)
    image, processor = Image.of(pixels), policy.model.image_processor
    (placeholder,) = processor.collapse(image.ids(1))
    first, *rest = (token for token in probe_row(policy.vocab_size, policy.max_length) if token != placeholder)
    begins = [first, *processor.token_ids(image)]
    if len(begins) + len(rest) > policy.max_length:
        return None
    return ProbedRow([*begins, *rest], len(begins), (image,))


def server_logp(server: VllmHttp, probe: ProbedRow, name: str, policy: ServedPolicy, timeout: float) -> list[float]:
    """Log-probs of ids[start:] on the server, by sampling with forced ids."""
    begins, forced = probe.ids[: probe.start], probe.ids[probe.start :]
    request = Sample(begins, Sampling(max_tokens=len(forced)), 0, frozenset(), images=probe.images)
    prompt = None if policy.model is None else image_prompt(begins, probe.images, policy.model.image_processor)
    future = server.generate(
        request, name, vocab_size=policy.vocab_size, max_length=policy.max_length, forced=forced, prompt=prompt
    )
    try:
        generated = future.result(timeout)
    except TimeoutError:
        future.cancel()
        raise ServerLostError(f"the server {server.url} measured no {len(forced)} tokens in {timeout:g} s") from None
    if generated.ids != forced:
        raise ServerLostError(f"the server {server.url} measured {generated.ids} instead of the ids {forced}")
    return generated.logp


def logp_gap(server: Sequence[float], engine: Sequence[float]) -> float:
    """Largest absolute difference of two lists of log-probs, in nats; infinite for non-finite values."""
    logp = np.array([server, engine], dtype=np.float64)
    return float(np.abs(logp[0] - logp[1]).max()) if np.isfinite(logp).all() else float("inf")
