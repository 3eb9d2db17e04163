"""State of one rank: gather and scatter tensors, save, load, restart.

Tensors are gathered and scattered one at a time, in an order that all ranks share, so that a process holds at most one
additional whole tensor.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors.torch import save
from torch import Tensor, nn
from torch import distributed as dist

from handaxe.core.model_api import AdapterModel, Model
from handaxe.engines.cluster.meta_model import materialize
from handaxe.engines.local.checkpoint_files import check_frozen, check_tensors, read_state, write_state
from handaxe.engines.local.heads import EngineHead
from handaxe.engines.local.modules import engine_tensors, moment_shapes, moments, set_moments, training_setup
from handaxe.ops.tensor_digest import tensor_digest

if TYPE_CHECKING:
    from handaxe.engines.cluster.sharded_trainer import ShardedOptions

__all__ = ["ShardedCheckpointing"]


class ShardedCheckpointing:
    """Mixin of `ShardedTrainer` for saving and restoring state; `ShardedTrainer.__init__` creates the attributes."""

    model: Model
    options: ShardedOptions
    device: torch.device
    _adapter: AdapterModel | None
    _critic: nn.Linear | None
    _heads: dict[str, EngineHead]
    _meta: Model
    _reference: Model | None
    _optimizer: torch.optim.AdamW
    _trained: dict[str, nn.Parameter]
    _frozen: str | None = None
    _staged: Mapping[str, Tensor] = {}

    # --- gathering -------------------------------------------------------------------------------------------------

    def tensor_sizes(self) -> dict[str, int]:
        """Bytes of every tensor that `gather` returns."""
        return {name: tensor.nbytes for name, tensor in self._all_tensors().items()}

    def gather(self, names: Sequence[str]) -> bytes:
        """Whole tensors, serialised by safetensors; empty on ranks other than 0. Names of the model's tensors start
        with "weights.", trained or not."""
        tensors = self._all_tensors()
        return self._serialize({name: tensors[name] for name in names})

    def checkpoint_names(self) -> list[str]:
        """Names of the tensors of a checkpoint."""
        return [*self._engine_tensors(), *moments(self._optimizer, self._trained)]

    def local_sizes(self) -> dict[str, int]:
        """Count the elements of this rank's shards of parameters and optimiser moments."""
        parameters = [_local(p) for p in self._trained.values()]
        shards = [
            _local(m) for name, m in moments(self._optimizer, self._trained).items() if not name.endswith(".step")
        ]
        return {"parameters": sum(p.numel() for p in parameters), "moments": sum(m.numel() for m in shards)}

    def gradient(self) -> bytes:
        """The accumulated gradient, by the names of `gather`; for tests."""
        return self._serialize({name: p.grad for name, p in self._trained.items() if p.grad is not None})

    def _serialize(self, tensors: Mapping[str, Tensor]) -> bytes:
        gathered = dict(_gather(tensors))
        # safetensors refuses tensors that share memory.
        return save({name: t.contiguous().clone() for name, t in gathered.items()}) if dist.get_rank() == 0 else b""

    # --- checkpoints -----------------------------------------------------------------------------------------------

    def save(self, folder: Path, version: int, random: Tensor) -> None:
        """Write a checkpoint as `LocalEngine.save`; only rank 0 writes.

        Raises:
            CheckpointError: on rank 0.
        """
        frozen = self.frozen_digest()
        tensors = dict(_gather(self._engine_tensors() | moments(self._optimizer, self._trained)))
        untrained = dict(_gather(self._untrained()))
        if dist.get_rank() != 0:
            return
        model = materialize(self._meta, _weights_by_name(tensors | untrained))
        write_state(folder, tensors | {"rng.torch": random}, version, model.save, frozen=frozen)

    def open_checkpoint(self, folder: Path) -> tuple[list[str], int, Tensor | None]:
        """Read a checkpoint on rank 0 and stage its tensors for `restore`. Returns names, version and torch's random
        state.

        Raises:
            CheckpointError: the checkpoint is damaged or of another engine.
        """
        tensors, version = read_state(folder)
        tensors.pop("rng.cuda", None)
        random = tensors.pop("rng.torch", None)
        return [*self.stage(str(folder), tensors)], version, random

    def open_policy_weights(self, folder: Path) -> tuple[list[str], int]:
        """As `open_checkpoint`, for the policy's weights only."""
        tensors, version = read_state(folder)
        tensors = {name: tensor for name, tensor in tensors.items() if name.startswith("weights.")}
        weights = {name: tensor for name, tensor in self._engine_tensors().items() if name.startswith("weights.")}
        check_tensors(folder, tensors, weights, optional="optimizer.")
        self._staged = tensors
        return [*tensors], version

    def stage(self, source: str, tensors: Mapping[str, Tensor]) -> list[str]:
        """Check tensors on rank 0 and stage them for `restore`; return the names."""
        check_tensors(source, tensors, self._engine_tensors() | moment_shapes(self._trained), optional="optimizer.")
        self._staged = tensors
        return [*tensors]

    def frozen_digest(self) -> str:
        """Return the digest of the untrained weights on rank 0, "" without any. The first call gathers them on all
        ranks; later calls use the stored digest."""
        if self._frozen is None:
            untrained = dict(_gather(self._untrained()))
            self._frozen = tensor_digest(_weights_by_name(untrained)) if untrained else ""
        return self._frozen

    def check_frozen(self, folder: Path) -> None:
        """Raise CheckpointError on rank 0 if a checkpoint was trained on other frozen weights; call `frozen_digest`
        first."""
        check_frozen(folder, self._frozen or "")

    @torch.no_grad()
    def restore(self, names: Sequence[str]) -> None:
        """Scatter the tensors staged on rank 0 to all ranks."""
        tensors, moment_likes = self._engine_tensors(), moment_shapes(self._trained)
        loaded: dict[str, Any] = {}
        for name in names:
            like: Any = tensors[name] if name in tensors else moment_likes[name]
            full = torch.empty(like.shape, dtype=like.dtype, device=self.device)
            if dist.get_rank() == 0:
                full.copy_(self._staged[name])
            dist.broadcast(full, src=0)
            if name in tensors:
                _local(like).copy_(_local(_shard_like(full, like)))
            else:
                loaded[name] = full.cpu() if name.endswith(".step") else _shard_like(full, like)
        self._staged = {}
        self._optimizer.zero_grad(set_to_none=True)
        set_moments(self._optimizer, self._trained, loaded)

    @torch.no_grad()
    def restart(self, critic: bool = False) -> None:
        """Reset the optimiser's moments and set the reference model, if any, to the current policy. `critic`: also
        reset the critic to 0, and initialize heads."""
        self._optimizer.state.clear()
        if self._reference is not None:
            pairs: list[tuple[Tensor, Tensor]] = [
                *zip(self._reference.module.parameters(), self.model.module.parameters())
            ]
            pairs += [*zip(self._reference.module.buffers(), self.model.module.buffers())]
            for old, new in pairs:
                _local(old).copy_(_local(new))
        for parameter in self._critic.parameters() if critic and self._critic is not None else ():
            _local(parameter).zero_()
        for head in self._heads.values() if critic else ():
            fresh = EngineHead(head.spec, self.model.hidden_size, head.layers[0].weight.dtype, self.device)
            for layer, new in zip(head.layers, fresh.layers, strict=True):
                for old, full in ((layer.weight, new.weight), (layer.bias, new.bias)):
                    _local(old).copy_(_local(_shard_like(full, old)))

    def training_setup(self) -> str:
        """A string that is equal for engines with equal optimiser settings and equal trained parameters."""
        clip_norm = self.options.clip_norm
        return training_setup(self._optimizer, self._trained, clip_norm=clip_norm, device=self.device)

    def _engine_tensors(self) -> dict[str, Tensor]:
        return engine_tensors(self._trained, self.model, self._reference)

    def _untrained(self) -> dict[str, Tensor]:
        named = self.model.module.named_parameters()
        return {f"weights.{name}": p for name, p in named if f"weights.{name}" not in self._trained}

    def _all_tensors(self) -> dict[str, Tensor]:
        return self._untrained() | self._engine_tensors() | moments(self._optimizer, self._trained)


def _gather(tensors: Mapping[str, Any]) -> Iterator[tuple[str, Tensor]]:
    """Gather whole tensors on the host of rank 0; a collective for all ranks."""
    for name, tensor in tensors.items():
        full = tensor.detach().full_tensor() if hasattr(tensor, "full_tensor") else tensor.detach()
        if dist.get_rank() == 0:
            yield name, full.cpu()


def _weights_by_name(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix("weights."): t for name, t in tensors.items() if name.startswith("weights.")}


def _local(tensor: Any) -> Tensor:
    return tensor.to_local() if hasattr(tensor, "to_local") else tensor


def _shard_like(full: Tensor, like: Any) -> Any:
    """Shard a replicated tensor in the same way as another tensor."""
    from torch.distributed.tensor import distribute_tensor

    if not hasattr(like, "device_mesh"):
        return full
    return distribute_tensor(full, like.device_mesh, like.placements, src_data_rank=None)
