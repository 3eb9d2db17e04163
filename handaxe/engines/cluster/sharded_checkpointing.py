"""What a rank keeps, and how ranks gather and spread it: everything that is neither measuring nor training.

Every tensor is gathered and spread by itself, in an order that all ranks share, so that no process ever holds more than
one of them besides what it was asked to hold.
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
from handaxe.engines.cluster.meta_model import with_weights
from handaxe.engines.local.modules import kept_tensors, moment_shapes, moments, set_moments, training_setup
from handaxe.engines.local.state import check_frozen, check_tensors, read_state, write_state
from handaxe.ops.digests import tensors_digest

if TYPE_CHECKING:
    from handaxe.engines.cluster.sharded import ShardedOptions

__all__ = ["ShardedCheckpointing"]


class ShardedCheckpointing:
    """The half of `ShardedTrainer` that keeps; what it keeps is made there."""

    model: Model
    options: ShardedOptions
    device: torch.device
    _adapter: AdapterModel | None
    _critic: nn.Linear | None
    _hollow: Model
    _reference: Model | None
    _optimizer: torch.optim.AdamW
    _trained: dict[str, nn.Parameter]
    _frozen: str | None = None
    _opened: Mapping[str, Tensor] = {}

    # --- gathering -------------------------------------------------------------------------------------------------

    def sizes(self) -> dict[str, int]:
        """Bytes of every tensor that `gather` knows."""
        return {name: tensor.nbytes for name, tensor in self._everything().items()}

    def gather(self, names: Sequence[str]) -> bytes:
        """Whole tensors, as safetensors writes them; nothing on ranks other than 0. "weights." stands before the names
        of the model's own, whether they train or not."""
        everything = self._everything()
        return self._packed({name: everything[name] for name in names})

    def kept(self) -> list[str]:
        """Names of all that a checkpoint holds."""
        return [*self._kept(), *moments(self._optimizer, self._trained)]

    def held(self) -> dict[str, int]:
        """Numbers in this rank's parts of parameters and of the optimiser's moments."""
        parameters = [_part(p) for p in self._trained.values()]
        kept = [_part(m) for name, m in moments(self._optimizer, self._trained).items() if not name.endswith(".step")]
        return {"parameters": sum(p.numel() for p in parameters), "moments": sum(m.numel() for m in kept)}

    def gradient(self) -> bytes:
        """What has gathered, by the names of `gather`; for tests."""
        return self._packed({name: p.grad for name, p in self._trained.items() if p.grad is not None})

    def _packed(self, tensors: Mapping[str, Tensor]) -> bytes:
        found = dict(_gathered(tensors))
        # safetensors refuses tensors that share memory.
        return save({name: t.contiguous().clone() for name, t in found.items()}) if dist.get_rank() == 0 else b""

    # --- checkpoints -----------------------------------------------------------------------------------------------

    def save(self, folder: Path, version: int, random: Tensor) -> None:
        """Write what `LocalEngine.save` would; only rank 0 writes.

        Raises:
            CheckpointError: on rank 0.
        """
        frozen = self.frozen_digest()
        tensors = dict(_gathered(self._kept() | moments(self._optimizer, self._trained)))
        still = dict(_gathered(self._untrained()))
        if dist.get_rank() != 0:
            return
        whole = with_weights(self._hollow, _bare(tensors | still))
        write_state(folder, tensors | {"rng.torch": random}, version, whole.save, frozen=frozen)

    def open(self, folder: Path) -> tuple[list[str], int, Tensor | None]:
        """Read a checkpoint, on rank 0 alone; what it holds is given to all by `take`. Its names, version, and torch's
        random state.

        Raises:
            CheckpointError: it is damaged or of another engine.
        """
        found, version = read_state(folder)
        found.pop("rng.cuda", None)
        random = found.pop("rng.torch", None)
        return [*self.hand(str(folder), found)], version, random

    def open_weights(self, folder: Path) -> tuple[list[str], int]:
        """As `open`, for the policy's weights alone."""
        found, version = read_state(folder)
        found = {name: tensor for name, tensor in found.items() if name.startswith("weights.")}
        wanted = {name: tensor for name, tensor in self._kept().items() if name.startswith("weights.")}
        check_tensors(folder, found, wanted, optional="optimizer.")
        self._opened = found
        return [*found], version

    def hand(self, where: str, found: Mapping[str, Tensor]) -> list[str]:
        """As `open`, for tensors in hand."""
        check_tensors(where, found, self._kept() | moment_shapes(self._trained), optional="optimizer.")
        self._opened = found
        return [*found]

    def frozen_digest(self) -> str:
        """Of the weights that do not train, "" where there are none; on rank 0. All ranks gather it the first
        time, and none of them later."""
        if self._frozen is None:
            still = dict(_gathered(self._untrained()))
            self._frozen = tensors_digest(_bare(still)) if still else ""
        return self._frozen

    def check_frozen(self, folder: Path) -> None:
        """Raise CheckpointError, on rank 0, for a checkpoint beside other frozen weights; their digest is taken."""
        check_frozen(folder, self._frozen or "")

    @torch.no_grad()
    def take(self, names: Sequence[str]) -> None:
        """Give every rank its parts of what rank 0 has opened."""
        kept, likes = self._kept(), moment_shapes(self._trained)
        found: dict[str, Any] = {}
        for name in names:
            like: Any = kept[name] if name in kept else likes[name]
            whole = torch.empty(like.shape, dtype=like.dtype, device=self.device)
            if dist.get_rank() == 0:
                whole.copy_(self._opened[name])
            dist.broadcast(whole, src=0)
            if name in kept:
                _part(like).copy_(_part(_spread(whole, like)))
            else:
                found[name] = whole.cpu() if name.endswith(".step") else _spread(whole, like)
        self._opened = {}
        self._optimizer.zero_grad(set_to_none=True)
        set_moments(self._optimizer, self._trained, found)

    @torch.no_grad()
    def restart(self, critic: bool = False) -> None:
        """Forget the optimiser's moments; the reference copy, where there is one, becomes the policy; a critic too
        begins anew where told so."""
        self._optimizer.state.clear()
        if self._reference is not None:
            pairs: list[tuple[Tensor, Tensor]] = [
                *zip(self._reference.module.parameters(), self.model.module.parameters())
            ]
            pairs += [*zip(self._reference.module.buffers(), self.model.module.buffers())]
            for old, new in pairs:
                _part(old).copy_(_part(new))
        for parameter in self._critic.parameters() if critic and self._critic is not None else ():
            _part(parameter).zero_()

    def setup(self) -> str:
        """Equal for engines that train alike."""
        clip_norm = self.options.clip_norm
        return training_setup(self._optimizer, self._trained, clip_norm=clip_norm, device=self.device)

    def _kept(self) -> dict[str, Tensor]:
        return kept_tensors(self._trained, self.model, self._reference)

    def _untrained(self) -> dict[str, Tensor]:
        named = self.model.module.named_parameters()
        return {f"weights.{name}": p for name, p in named if f"weights.{name}" not in self._trained}

    def _everything(self) -> dict[str, Tensor]:
        return self._untrained() | self._kept() | moments(self._optimizer, self._trained)


def _gathered(tensors: Mapping[str, Any]) -> Iterator[tuple[str, Tensor]]:
    """Whole tensors on the host, on rank 0 alone; the others take part."""
    for name, tensor in tensors.items():
        whole = tensor.detach().full_tensor() if hasattr(tensor, "full_tensor") else tensor.detach()
        if dist.get_rank() == 0:
            yield name, whole.cpu()


def _bare(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix("weights."): t for name, t in tensors.items() if name.startswith("weights.")}


def _part(tensor: Any) -> Tensor:
    return tensor.to_local() if hasattr(tensor, "to_local") else tensor


def _spread(whole: Tensor, like: Any) -> Any:
    """A whole tensor that every rank has, split as another is."""
    from torch.distributed.tensor import distribute_tensor

    if not hasattr(like, "device_mesh"):
        return whole
    return distribute_tensor(whole, like.device_mesh, like.placements, src_data_rank=None)
