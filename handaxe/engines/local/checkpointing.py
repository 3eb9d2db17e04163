"""State of a `LocalEngine`: save, load, state dicts, restart, weights of another checkpoint."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from handaxe.core.errors import CheckpointError, InputError
from handaxe.core.model_api import AdapterModel, Model
from handaxe.engines.local.checkpoint_files import check_frozen, check_tensors, read_state, write_state
from handaxe.engines.local.heads import EngineHead
from handaxe.engines.local.master_weights import copy_to_masters, master_tensors
from handaxe.engines.local.modules import engine_tensors, moment_shapes, moments, set_moments, training_setup
from handaxe.ops.tensor_digest import tensor_digest

__all__ = ["LocalCheckpointing"]


class LocalCheckpointing:
    """Mixin of `LocalEngine` for saving and restoring engine state; `LocalEngine.__init__` creates the attributes."""

    model: Model
    version: int
    device: torch.device
    clip_norm: float
    _adapter: AdapterModel | None
    _critic: nn.Linear | None
    _heads: dict[str, EngineHead]
    _reference: Model | None
    _optimizer: torch.optim.AdamW
    _trained: dict[str, nn.Parameter]
    _optimized: dict[str, nn.Parameter]

    def _has_gradient(self) -> bool:
        return any(p.grad is not None for p in self._optimized.values())

    def _drop_gradient(self) -> None:
        self._optimizer.zero_grad(set_to_none=True)

    # --- saving and loading ----------------------------------------------------------------------------------------

    def save(self, folder: Path) -> None:
        """Write all state, and the model for use without an engine (see `engines.local.checkpoint_files`), atomically.
        An earlier checkpoint in the folder is replaced.

        Raises:
            InputError: called between `forward_backward` and `optim_step`; the gradient would be lost.
            CheckpointError: the folder holds other files or cannot be written.
        """
        if self._has_gradient():
            raise InputError("save after optim_step: the gradient accumulated since the last step would be lost")
        tensors = self._weights() | moments(self._optimizer, self._optimized)
        tensors["rng.torch"] = torch.get_rng_state()
        if self.device.type == "cuda":
            tensors["rng.cuda"] = torch.cuda.get_rng_state(self.device)
        write_state(folder, tensors, self.version, self.model.save, frozen=self._frozen)

    def load(self, folder: Path) -> None:
        """Restore the state written by `save`, including torch's random state: training continues as if never
        interrupted.

        Raises:
            CheckpointError: the checkpoint is damaged or of another engine; this engine stays unchanged.
        """
        tensors, version = read_state(folder)
        random = {name: tensors.pop(name) for name in ("rng.torch", "rng.cuda") if name in tensors}
        check_frozen(folder, self._frozen)
        self._restore(str(folder), tensors, version)
        if "rng.torch" in random:
            torch.set_rng_state(random["rng.torch"])
        if "rng.cuda" in random and self.device.type == "cuda":
            torch.cuda.set_rng_state(random["rng.cuda"], self.device)

    def _restore(self, source: str, tensors: dict[str, Tensor], version: int) -> None:
        weights = self._weights()
        check_tensors(source, tensors, weights | moment_shapes(self._optimized), optional="optimizer.")
        self._drop_gradient()
        with torch.no_grad():
            for name, tensor in weights.items():
                tensor.copy_(tensors[name])
        set_moments(self._optimizer, self._optimized, tensors)
        self.version = version

    def state_dict(self) -> dict[str, Any]:
        """Copies of the state that `save` writes, without torch's random state; for a second engine of a run."""
        if self._has_gradient():
            raise InputError(
                "call state_dict after optim_step: the gradient accumulated since the last step would be lost"
            )
        tensors = self._weights() | moments(self._optimizer, self._optimized)
        copies = {name: tensor.detach().cpu().clone() for name, tensor in tensors.items()}
        return {"version": self.version, "frozen": self._frozen, "tensors": copies}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore the state returned by `state_dict`.

        Raises:
            CheckpointError: the state is of another engine; this engine stays unchanged.
        """
        if state["frozen"] != self._frozen:
            raise CheckpointError("the state is of an engine with other frozen weights (the digests differ)")
        tensors = {name: tensor.clone() for name, tensor in state["tensors"].items()}  # set_moments does not copy
        self._restore("state dict", tensors, state["version"])

    # --- restarting ------------------------------------------------------------------------------------------------

    def restart(self) -> None:
        """Reset the optimiser's moments and set the reference model, if any, to the current policy.

        Raises:
            InputError: called between `forward_backward` and `optim_step`; or, after optimiser steps, on a model with
                an adapter, whose reference is always the base model.
        """
        if self._has_gradient():
            raise InputError("restart after optim_step: the gradient accumulated since the last step would be lost")
        if self._adapter is not None and self.version:
            raise InputError(
                "the reference of an adapter model is the base model and cannot be updated: merge the adapter and make "
                "a new engine for the next stage"
            )
        self._optimizer.state.clear()
        if self._reference is not None:
            self._reference.module.load_state_dict(self.model.module.state_dict())

    def start_digest(self) -> str:
        """Digest of all weights and buffers, the names of trained parameters, and the optimiser settings."""
        setup = training_setup(self._optimizer, self._trained, clip_norm=self.clip_norm, device=self.device)
        return tensor_digest(self.model.module.state_dict(), setup)

    def load_weights(self, folder: Path) -> None:
        """Load trained weights and version from a checkpoint of the same model, and restart. A critic is reset to 0,
        and heads are initialized.

        Args:
            folder: written by `save` of an engine with or without critic and reference.

        Raises:
            CheckpointError: the checkpoint is damaged or of another model; this engine stays unchanged.
        """
        tensors, version = read_state(folder)
        tensors = {name: tensor for name, tensor in tensors.items() if name.startswith("weights.")}
        weights = {name: tensor for name, tensor in self._weights().items() if name.startswith("weights.")}
        check_tensors(folder, tensors, weights, optional="optimizer.")
        check_frozen(folder, self._frozen)
        self._drop_gradient()
        with torch.no_grad():
            for name, tensor in weights.items():
                tensor.copy_(tensors[name])
            for parameter in () if self._critic is None else self._critic.parameters():
                parameter.zero_()
        for head in self._heads.values():
            head.reset()
        copy_to_masters(self._trained, self._optimized)
        self.version = 0  # allows the restart of an adapter model
        self.restart()
        self.version = version

    @cached_property
    def _frozen(self) -> str:
        """Return the digest of the untrained parameters, "" if all train; computed once, because untrained parameters
        are constant."""
        named = self.model.module.named_parameters()
        untrained = {name: p for name, p in named if f"weights.{name}" not in self._trained}
        return tensor_digest(untrained) if untrained else ""

    def _weights(self) -> dict[str, Tensor]:
        """Trained parameters, their master weights, buffers and the reference model, not copied."""
        masters = master_tensors(self._trained, self._optimized)
        return engine_tensors(self._trained, self.model, self._reference) | masters
