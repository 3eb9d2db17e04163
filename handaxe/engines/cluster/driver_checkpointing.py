"""State of a `ClusterEngine`, seen from the driver: gather weights, save, load, state dicts, restart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load as read_tensors
from torch import Tensor

from handaxe.core.errors import CheckpointError, InputError
from handaxe.core.model_api import AdapterModel, Model
from handaxe.engines.cluster.driver_sampling import DriverSampler
from handaxe.engines.cluster.meta_model import materialize
from handaxe.engines.cluster.ranks import Ranks
from handaxe.engines.cluster.sharded_trainer import ShardedOptions
from handaxe.engines.vllm.weight_transfer import served_weights
from handaxe.ops.tensor_digest import tensor_digest

__all__ = ["DriverCheckpointing"]

GATHER_BYTES = 2**28
"""Bytes of weights gathered by one call."""


class DriverCheckpointing:
    """Mixin of `ClusterEngine` for saving and restoring engine state. Checkpoints have the format of `LocalEngine` and
    load into a `LocalEngine` and onto any number of ranks."""

    ranks: Ranks
    version: int
    _weight_loads: int
    _has_gradient: bool
    _meta: Model
    _key: int
    _options: ShardedOptions
    _sampler: DriverSampler

    def _call(self, phase: str, method: str, arguments: Sequence[tuple] | None = None) -> list[Any]:
        raise NotImplementedError

    # --- weights ---------------------------------------------------------------------------------------------------

    def iter_weights(self, untrained: bool = True) -> Iterator[tuple[str, Tensor]]:
        """Gather the model's weights by name, `GATHER_BYTES` a call; the caller may stop the iteration early.

        Args:
            untrained: include weights that do not train.
        """
        names = self._call("gather", "checkpoint_names" if not untrained else "tensor_sizes")[0]
        for name, tensor in self._gather_batches([name for name in names if name.startswith("weights.")]):
            yield name.removeprefix("weights."), tensor

    def iter_served_weights(self) -> Iterator[tuple[str, Tensor]]:
        """As `iter_weights`, with adapters merged and names of the model without an adapter."""
        if not isinstance(self._meta, AdapterModel):
            return self.iter_weights()
        return iter(served_weights(self._meta.module, dict(self.iter_weights())).items())

    def full_model(self) -> Model:
        """Return a copy of the current model, in this process."""
        return materialize(self._meta, dict(self.iter_weights()))

    def _gather_batches(self, names: Sequence[str]) -> Iterator[tuple[str, Tensor]]:
        sizes = self._call("gather", "tensor_sizes")[0]
        batch: list[str] = []
        for name in names:
            if batch and sum(sizes[one] for one in batch) + sizes[name] > GATHER_BYTES:
                yield from self._gather(batch)
                batch = []
            batch.append(name)
        if batch:
            yield from self._gather(batch)

    def _gather(self, names: list[str]) -> Iterator[tuple[str, Tensor]]:
        yield from read_tensors(self._call("gather", "gather", [(names,)] * self.ranks.count)[0]).items()

    # --- saving and loading ----------------------------------------------------------------------------------------

    def save(self, folder: Path) -> None:
        """Save as `LocalEngine.save`. Rank 0 writes the folder, which a driver on another machine must see, too.

        Raises:
            InputError: called between `forward_backward` and `optim_step`; the gradient would be lost.
            CheckpointError: the folder holds other files or cannot be written.
        """
        self._check_no_gradient("save")
        folder = Path(folder).resolve()
        arguments = (folder, self.version, torch.get_rng_state())
        self._call("save", "save", [arguments] * self.ranks.count)
        if not (folder / "engine.json").is_file():
            raise CheckpointError(
                f"rank 0 has written {folder} on its machine, and this machine does not see it: save to a shared folder"
            )

    def load(self, folder: Path) -> None:
        """Restore the checkpoint of any engine of the same model, including torch's random state in this process.

        Raises:
            CheckpointError: the checkpoint is damaged or of another engine; this engine stays unchanged.
        """
        folder = Path(folder).resolve()
        names, version, random = self._call("load", "open_checkpoint", [(folder,)])[0]
        self._check_frozen(folder)
        self._restore(names, version)
        if random is not None:
            torch.set_rng_state(random)

    def load_weights(self, folder: Path) -> None:
        """Load trained weights and version from a checkpoint of the same model, and restart. A critic is reset to 0.

        Raises:
            CheckpointError: the checkpoint is damaged or of another model; this engine stays unchanged.
        """
        folder = Path(folder).resolve()
        names, version = self._call("load", "open_policy_weights", [(folder,)])[0]
        self._check_frozen(folder)
        self._restore(names, version)
        self._call("restart", "restart", [(True,)] * self.ranks.count)

    def state_dict(self) -> dict[str, Any]:
        """Copies of the state that `save` writes, without torch's random state; for a second engine of a run."""
        self._check_no_gradient("call state_dict")
        names = self._call("gather", "checkpoint_names")[0]
        return {"version": self.version, "frozen": self._frozen(), "tensors": dict(self._gather_batches(names))}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore the state returned by `state_dict` of this class or of `LocalEngine`.

        Raises:
            CheckpointError: the state is of another engine; this engine stays unchanged.
        """
        if state["frozen"] != self._frozen():
            raise CheckpointError("the state is of an engine with other frozen weights (the digests differ)")
        names = self._call("load", "stage", [("state dict", state["tensors"])])[0]
        self._restore(names, state["version"])

    def _restore(self, names: list[str], version: int) -> None:
        self._call("load", "restore", [(names,)] * self.ranks.count)
        self.version, self._has_gradient = version, False
        self._weight_loads += 1
        self._sampler.invalidate()

    def _frozen(self) -> str:
        return self._call("digest", "frozen_digest")[0]

    def _check_frozen(self, folder: Path) -> None:
        self._frozen()
        self._call("load", "check_frozen", [(folder,)])

    # --- restarting ------------------------------------------------------------------------------------------------

    def restart(self) -> None:
        """Reset the optimiser's moments and set the reference model, if any, to the current policy.

        Raises:
            InputError: called between `forward_backward` and `optim_step`; or, after optimiser steps, on a model with
                an adapter, whose reference is always the base model.
        """
        self._check_no_gradient("restart")
        if self._options.reference and isinstance(self._meta, AdapterModel) and self.version:
            raise InputError(
                "the reference of an adapter model is the base model and cannot be updated: merge the adapter and make "
                "a new engine for the next stage"
            )
        self._call("restart", "restart")

    def start_digest(self) -> str:
        """Digest of all weights and buffers, the names of trained parameters, and the optimiser settings."""
        setup = self._call("digest", "training_setup")[0]
        return tensor_digest(self.full_model().module.state_dict(), setup)

    def _check_no_gradient(self, action: str) -> None:
        if self._has_gradient:
            raise InputError(f"{action} after optim_step: the gradient accumulated since the last step would be lost")
