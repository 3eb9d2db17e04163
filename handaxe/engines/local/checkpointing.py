"""What an engine in torch keeps, and how it begins anew: everything that is neither sampling nor training."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from handaxe.core.errors import CheckpointError, InputError
from handaxe.core.model_api import AdapterModel, Model
from handaxe.engines.local.modules import kept_tensors, moment_shapes, moments, set_moments, training_setup
from handaxe.engines.local.state import check_frozen, check_tensors, read_state, write_state
from handaxe.ops.digests import tensors_digest

__all__ = ["Checkpointing"]


class Checkpointing:
    """The half of `LocalEngine` that reads and writes its state; what it reads and writes is made there."""

    model: Model
    version: int
    device: torch.device
    clip_norm: float
    _adapter: AdapterModel | None
    _critic: nn.Linear | None
    _reference: Model | None
    _optimizer: torch.optim.AdamW
    _trained: dict[str, nn.Parameter]

    def _has_gradient(self) -> bool:
        return any(p.grad is not None for p in self._trained.values())

    def _drop_gradient(self) -> None:
        self._optimizer.zero_grad(set_to_none=True)

    # --- keeping ---------------------------------------------------------------------------------------------------

    def save(self, folder: Path) -> None:
        """Write everything stateful, and the model for use without an engine (see `engines.local.state`), at once or
        not
        at all. The folder is the engine's own; an earlier checkpoint in it is replaced.

        Raises:
            InputError: between `forward_backward` and `optim_step`, whose gradient would be lost.
            CheckpointError: when the folder holds something else or cannot be written.
        """
        if self._has_gradient():
            raise InputError("save after optim_step: the gradient gathered since the last step would be lost")
        tensors = self._weights() | moments(self._optimizer, self._trained)
        tensors["rng.torch"] = torch.get_rng_state()
        if self.device.type == "cuda":
            tensors["rng.cuda"] = torch.cuda.get_rng_state(self.device)
        write_state(folder, tensors, self.version, self.model.save, frozen=self._frozen)

    def load(self, folder: Path) -> None:
        """Take back what `save` wrote, also torch's random state; from here on as if never interrupted.

        Raises:
            CheckpointError: when it is damaged or of another engine; this engine is then as it was.
        """
        found, version = read_state(folder)
        random = {name: found.pop(name) for name in ("rng.torch", "rng.cuda") if name in found}
        check_frozen(folder, self._frozen)
        self._take(str(folder), found, version)
        if "rng.torch" in random:
            torch.set_rng_state(random["rng.torch"])
        if "rng.cuda" in random and self.device.type == "cuda":
            torch.cuda.set_rng_state(random["rng.cuda"], self.device)

    def _take(self, where: str, found: dict[str, Tensor], version: int) -> None:
        weights = self._weights()
        check_tensors(where, found, weights | moment_shapes(self._trained), optional="optimizer.")
        self._drop_gradient()
        with torch.no_grad():
            for name, tensor in weights.items():
                tensor.copy_(found[name])
        set_moments(self._optimizer, self._trained, found)
        self.version = version

    def state_dict(self) -> dict[str, Any]:
        """Copies of all that `save` writes but torch's random state, for an engine beside the policy's."""
        if self._has_gradient():
            raise InputError("keep the state after optim_step: the gradient gathered since the last step would be lost")
        tensors = self._weights() | moments(self._optimizer, self._trained)
        kept = {name: tensor.detach().cpu().clone() for name, tensor in tensors.items()}
        return {"version": self.version, "frozen": self._frozen, "tensors": kept}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take back what `state_dict` gave.

        Raises:
            CheckpointError: when it is of another engine; this engine is then as it was.
        """
        if state["frozen"] != self._frozen:
            raise CheckpointError("the state is of an engine with other frozen weights (their digest differs)")
        found = {name: tensor.clone() for name, tensor in state["tensors"].items()}  # moments are kept, not copied
        self._take("in hand", found, state["version"])

    # --- beginning anew --------------------------------------------------------------------------------------------

    def restart(self) -> None:
        """Forget the optimiser's moments; the reference, where there is one, becomes the policy as it is now.

        Raises:
            InputError: between `forward_backward` and `optim_step`; or when the reference is the model with its adapter
                switched off, which cannot become anything else, and steps were taken.
        """
        if self._has_gradient():
            raise InputError("restart after optim_step: the gradient gathered since the last step would be lost")
        if self._adapter is not None and self.version:
            raise InputError(
                "the reference of a model with an adapter is the model without it, and stays what it is: merge the "
                "adapter, and make a new engine for what comes next"
            )
        self._optimizer.state.clear()
        if self._reference is not None:
            self._reference.module.load_state_dict(self.model.module.state_dict())

    def start_digest(self) -> str:
        """A digest of every weight and buffer of the model, of which are trained, and of the optimiser's settings."""
        about = training_setup(self._optimizer, self._trained, clip_norm=self.clip_norm, device=self.device)
        return tensors_digest(self.model.module.state_dict(), about)

    def load_weights(self, folder: Path) -> None:
        """Take the trained weights and the version of an engine of the same model, and restart. A critic begins at 0.

        Args:
            folder: what `save` wrote, whether or not that engine had a critic and a reference.

        Raises:
            CheckpointError: when it is damaged or of another model; this engine is then as it was.
        """
        found, version = read_state(folder)
        found = {name: tensor for name, tensor in found.items() if name.startswith("weights.")}
        wanted = {name: tensor for name, tensor in self._weights().items() if name.startswith("weights.")}
        check_tensors(folder, found, wanted, optional="optimizer.")
        check_frozen(folder, self._frozen)
        self._drop_gradient()
        with torch.no_grad():
            for name, tensor in wanted.items():
                tensor.copy_(found[name])
            for parameter in () if self._critic is None else self._critic.parameters():
                parameter.zero_()
        self.version = 0  # of an adapter at its start, too
        self.restart()
        self.version = version

    @cached_property
    def _frozen(self) -> str:
        """A digest of the parameters that do not train; "" when all do. They never change, so it is taken once."""
        named = self.model.module.named_parameters()
        found = {name: p for name, p in named if f"weights.{name}" not in self._trained}
        return tensors_digest(found) if found else ""

    def _weights(self) -> dict[str, Tensor]:
        """Trained parameters, buffers and the reference copy: the engine's own tensors, not copies of them."""
        return kept_tensors(self._trained, self.model, self._reference)
