"""What a cluster's driver keeps, and how it begins anew: everything that is neither sampling nor training."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load as read_tensors
from torch import Tensor

from handaxe.core.errors import CheckpointError, InputError
from handaxe.core.model_api import AdapterModel, Model
from handaxe.engines.cluster.meta_model import with_weights
from handaxe.engines.cluster.ranks import Ranks
from handaxe.engines.cluster.sampling import DriverSampler
from handaxe.engines.cluster.sharded import ShardedOptions
from handaxe.engines.vllm.weights import served_weights
from handaxe.ops.digests import tensors_digest

__all__ = ["ClusterCheckpointing"]

PIECE = 2**28
"""Bytes of weights that are gathered and handed over at a time."""


class ClusterCheckpointing:
    """The half of `ClusterEngine` that reads and writes its state. A checkpoint is the one that `LocalEngine` writes:
    it may be loaded there, and on any number of ranks."""

    ranks: Ranks
    version: int
    _changes: int
    _gathered: bool
    _hollow: Model
    _key: int
    _options: ShardedOptions
    _sampler: DriverSampler

    def _call(self, phase: str, method: str, each: Sequence[tuple] | None = None) -> list[Any]:
        raise NotImplementedError

    # --- weights ---------------------------------------------------------------------------------------------------

    def pieces(self, untrained: bool = True) -> Iterator[tuple[str, Tensor]]:
        """Every weight of the model, whole, by its name there; a few at a time, each few by a call of its own, so that
        the caller may stop or fail half way.

        Args:
            untrained: those that never train too.
        """
        names = self._call("gather", "kept" if not untrained else "sizes")[0]
        yield from self._bare([name for name in names if name.startswith("weights.")])

    def gather(self) -> Iterator[tuple[str, Tensor]]:
        """As `pieces`, by the names that the model has without an adapter, which is added to the weights under it."""
        if not isinstance(self._hollow, AdapterModel):
            return self.pieces()
        return iter(served_weights(self._hollow.module, dict(self.pieces())).items())

    def whole(self) -> Model:
        """A copy of the model as it is now, in this process."""
        return with_weights(self._hollow, dict(self.pieces()))

    def _bare(self, names: Sequence[str]) -> Iterator[tuple[str, Tensor]]:
        for name, tensor in self._tensors(names):
            yield name.removeprefix("weights."), tensor

    def _tensors(self, names: Sequence[str]) -> Iterator[tuple[str, Tensor]]:
        sizes = self._call("gather", "sizes")[0]
        piece: list[str] = []
        for name in names:
            if piece and sum(sizes[one] for one in piece) + sizes[name] > PIECE:
                yield from self._gather(piece)
                piece = []
            piece.append(name)
        if piece:
            yield from self._gather(piece)

    def _gather(self, names: list[str]) -> Iterator[tuple[str, Tensor]]:
        yield from read_tensors(self._call("gather", "gather", [(names,)] * self.ranks.count)[0]).items()

    # --- keeping ---------------------------------------------------------------------------------------------------

    def save(self, folder: Path) -> None:
        """As `LocalEngine.save`. Rank 0 writes: where it runs on another machine, both must see the folder.

        Raises:
            InputError: between `forward_backward` and `optim_step`, whose gradient would be lost.
            CheckpointError: when the folder holds something else or cannot be written.
        """
        self._check_no_gradient("save")
        folder = Path(folder).resolve()
        given = (folder, self.version, torch.get_rng_state())
        self._call("save", "save", [given] * self.ranks.count)
        if not (folder / "engine.json").is_file():
            raise CheckpointError(
                f"rank 0 has written {folder} on its machine, and here there is none: save to a folder that both see"
            )

    def load(self, folder: Path) -> None:
        """Take back what any engine of the same model saved, also torch's random state in this process.

        Raises:
            CheckpointError: when it is damaged or of another engine; this engine is then as it was.
        """
        folder = Path(folder).resolve()
        names, version, random = self._call("load", "open", [(folder,)])[0]
        self._check_frozen(folder)
        self._take(names, version)
        if random is not None:
            torch.set_rng_state(random)

    def load_weights(self, folder: Path) -> None:
        """Take the policy's weights and the version from what any engine of the same model saved, and restart. A critic
        begins at 0.

        Raises:
            CheckpointError: when it is damaged or of another model; this engine is then as it was.
        """
        folder = Path(folder).resolve()
        names, version = self._call("load", "open_weights", [(folder,)])[0]
        self._check_frozen(folder)
        self._take(names, version)
        self._call("restart", "restart", [(True,)] * self.ranks.count)

    def state_dict(self) -> dict[str, Any]:
        """Copies of all that `save` writes but torch's random state, for an engine beside the policy's."""
        self._check_no_gradient("keep the state")
        names = self._call("gather", "kept")[0]
        return {"version": self.version, "frozen": self._frozen(), "tensors": dict(self._tensors(names))}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take back what `state_dict` gave, here or of a `LocalEngine`.

        Raises:
            CheckpointError: when it is of another engine; this engine is then as it was.
        """
        if state["frozen"] != self._frozen():
            raise CheckpointError("the state is of an engine with other frozen weights (their digest differs)")
        names = self._call("load", "hand", [("in hand", state["tensors"])])[0]
        self._take(names, state["version"])

    def _take(self, names: list[str], version: int) -> None:
        self._call("load", "take", [(names,)] * self.ranks.count)
        self.version, self._gathered = version, False
        self._changes += 1
        self._sampler.forget()

    def _frozen(self) -> str:
        return self._call("digest", "frozen_digest")[0]

    def _check_frozen(self, folder: Path) -> None:
        self._frozen()
        self._call("load", "check_frozen", [(folder,)])

    # --- beginning anew --------------------------------------------------------------------------------------------

    def restart(self) -> None:
        """Forget the optimiser's moments; the reference, where there is one, becomes the policy as it is now.

        Raises:
            InputError: between `forward_backward` and `optim_step`; or when the reference is the model with its adapter
                switched off, which cannot become anything else, and steps were taken.
        """
        self._check_no_gradient("restart")
        if self._options.reference and isinstance(self._hollow, AdapterModel) and self.version:
            raise InputError(
                "the reference of a model with an adapter is the model without it, and stays what it is: merge the "
                "adapter, and make a new engine for what comes next"
            )
        self._call("restart", "restart")

    def start_digest(self) -> str:
        """A digest of every weight and buffer of the model, of which are trained, and of the optimiser's settings."""
        about = self._call("digest", "setup")[0]
        return tensors_digest(self.whole().module.state_dict(), about)

    def _check_no_gradient(self, what: str) -> None:
        if self._gathered:
            raise InputError(f"{what} after optim_step: the gradient gathered since the last step would be lost")
