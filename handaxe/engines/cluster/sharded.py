"""One rank of several that train one model together: it holds a part of every weight, and reads rows of its own.

Weights are split by torch's FSDP2. Those of a layer are whole only while the layer is called; what is outside of the
layers (embedding, last norm, head, critic) from the reading of a batch until its gradient is there. Gradients of the
ranks are added, not averaged, since a loss is already divided by what counts over the whole optimiser step.

Whatever a rank does, all ranks do at the same time, with rows of their own or with none: a rank that has none, or fewer
trees than another, reads a single token in their place, whose gradient is 0.

Legend: R ranks, B rows, T tokens, N tokens computed, D width.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch import distributed as dist

from handaxe.core.batch import Batch
from handaxe.core.errors import InputError
from handaxe.core.model_api import AdapterModel, LinearHeadModel, Model, ShardableModel, TreeModel
from handaxe.core.protocols import HiddenMeasure
from handaxe.engines.cluster.meta_model import meta_model, replace_parameters
from handaxe.engines.cluster.shard_rows import RankRows
from handaxe.engines.cluster.sharded_checkpointing import ShardedCheckpointing
from handaxe.engines.local.measure import Measuring, make_reader
from handaxe.engines.local.measure_requests import bare_batch
from handaxe.engines.local.modules import adamw, evaluating, value_head
from handaxe.engines.local.nonfinite import not_finite
from handaxe.engines.local.optimizer_step import gradient_norm, take_step
from handaxe.engines.local.packing import Layout, Packing, read
from handaxe.ops.trees import forest, make_pack

__all__ = ["ShardedOptions", "ShardedTrainer", "probed"]


class ShardedOptions(NamedTuple):
    """What every rank of an engine is made with; see `ClusterEngine`."""

    critic: bool = False
    reference: bool = False
    weight_decay: float = 0.0
    betas: tuple[float, float] = (0.9, 0.95)
    clip_norm: float = 1.0
    packing: Packing = "tree"
    pack_tokens: int = 1024
    checkpointing: bool = False


NONE = RankRows(torch.zeros(1, 1, dtype=torch.int64), torch.ones(1, 1).bool(), torch.zeros(1, 1).bool(), torch.ones(1))


def probed(model: Model) -> Model:
    """The model, having found out what some models find out by trying: once it is split, it can try no more.

    Raises:
        InputError: for a model whose head can only be had by calling the layers too, which each rank would do as often
            as its own rows need.
    """
    with evaluating(model.module), torch.no_grad():
        if isinstance(model, TreeModel):
            model.reads_trees()
        if isinstance(model, LinearHeadModel) and model.linear_head() is None:
            raise InputError(
                "this model does more to its logits than its output layer does (it caps or scales them, or an adapter "
                "is on that layer), so it cannot be split over ranks: train it with LocalEngine"
            )
    return model


class _Root(nn.Module):
    """What is not in a layer. Calling it gathers that, and then reads."""

    def __init__(self, module: nn.Module, critic: nn.Linear | None):
        super().__init__()
        self.module = module
        self.critic = critic

    def forward(self, run: Callable[[], Tensor]) -> Tensor:
        hidden_ND = run()
        return hidden_ND.clone() if hidden_ND._is_view() else hidden_ND  # what torch hooks up may be no view


class ShardedTrainer(ShardedCheckpointing):
    """A part of a model and of its optimiser's state, in a process group that is there already.

    Args:
        model: `probed`. With its weights on rank 0; on the others, which receive their parts, it may be `meta_model`.
        options: the same on every rank.
        device: of this rank.
    """

    def __init__(self, model: Model, options: ShardedOptions, *, device: str | torch.device = "cpu"):
        self._reader = make_reader(
            model, packing=options.packing, pack_tokens=options.pack_tokens, checkpointing=options.checkpointing
        )
        self.model, self.options = model, options
        self.device = torch.device(device)
        self._hollow = meta_model(model)
        floating = next(p.dtype for p in model.module.parameters() if p.is_floating_point())
        dtype = torch.promote_types(floating, torch.float32)
        self._critic = value_head(model.hidden_size, dtype, self.device) if options.critic else None
        self._adapter = model if options.reference and isinstance(model, AdapterModel) else None
        self._reference = meta_model(model) if options.reference and self._adapter is None else None
        self._root, self._reference_root = _split(model, self._critic, self._reference, self.device)
        self._trained = {f"weights.{k}": p for k, p in model.module.named_parameters() if p.requires_grad}
        if self._critic is not None:
            self._trained |= {f"critic.{k}": p for k, p in self._critic.named_parameters()}
        if not self._trained:
            raise InputError("no parameter of the model requires a gradient, so there is nothing to train")
        self._optimizer = adamw(self._trained.values(), weight_decay=options.weight_decay, betas=options.betas)
        self._reading: Measuring | None = None
        self._hidden_ND: Tensor | None = None
        self._said: dict[str, Tensor] = {}

    # --- measuring -------------------------------------------------------------------------------------------------

    @torch.no_grad()
    def measure(
        self, rows: RankRows | None, names: Sequence[str | HiddenMeasure], reference: bool, size: int, passes: int
    ) -> dict[str, Tensor]:
        """[B, T] tensors by name, without gradient, of rows that are read `size` at a time in as many passes."""
        batch = self._batch(rows)
        order_B = self._reader.order(self.model, batch)
        parts = [*order_B.split(size), *[None] * passes][:passes]
        out: dict[str, Tensor] = {}
        switched = self._adapter.without_adapter() if reference and self._adapter is not None else nullcontext()
        with switched:
            for index in parts:
                part = self._batch(None) if index is None else batch.rows(index.to(batch.ids_BT.device))
                said = self._read(part, reference=reference)[0].measure(names, self._critic)
                for name, value_BT in said.items() if index is not None else ():
                    whole_BT = out.setdefault(name, value_BT.new_zeros(batch.ids_BT.shape))
                    whole_BT[index, : value_BT.shape[1]] = value_BT
        self._gather_no_more(reference)
        return {name: value_BT.cpu() for name, value_BT in out.items()}

    def _read(self, batch: Batch, *, reference: bool = False) -> tuple[Measuring, Tensor]:
        split = reference and self._reference is not None
        model, root = (self._reference, self._reference_root) if split else (self.model, self._root)
        assert model is not None and root is not None
        with evaluating(root):
            layout = self._level(self._reader.layout(model, batch))
            hidden_ND = root(partial(read, model, batch, layout))
            return Measuring(model, batch, layout, hidden_ND, batch.mask_BT.clone()), hidden_ND

    def _level(self, layout: Layout) -> Layout:
        """As many packs as the rank that has the most."""
        most = torch.tensor(len(layout.packs), device=self.device)
        dist.all_reduce(most, op=dist.ReduceOp.MAX)
        if not layout.packs:
            return layout
        lone = make_pack(forest([np.zeros(1, np.int64)]), [0], self.device)
        return layout._replace(packs=(*layout.packs, *[lone] * (int(most) - len(layout.packs))))

    def _batch(self, rows: RankRows | None) -> Batch:
        return bare_batch(*(NONE if rows is None else rows)).map(lambda tensor: tensor.to(self.device))

    def _gather_no_more(self, reference: bool = False) -> None:
        root = self._reference_root if reference and self._reference_root is not None else self._root
        root.reshard()  # type: ignore[operator]

    # --- training --------------------------------------------------------------------------------------------------

    def read(self, rows: RankRows | None, names: Sequence[str]) -> dict[str, Tensor]:
        """[B, T] tensors by name, of which the graph is kept for `back`; those of a rank without rows are [1, 1]."""
        self._reading, self._hidden_ND = self._read(self._batch(rows))
        self._said = {}
        return self.more(names)

    def more(self, names: Sequence[str]) -> dict[str, Tensor]:
        """Further tensors of what was read last."""
        assert self._reading is not None
        with evaluating(self._root):
            self._said |= self._reading.measure(names, self._critic)
        return {name: self._said[name].detach().cpu() for name in names}

    def back(self, slopes: Mapping[str, Tensor]) -> None:
        """Add the gradient of what was read last, given how the loss changes with each number [B, T] of it. A rank
        without rows is given zeros."""
        said = [self._said[name] for name in slopes]
        given = [slope_BT.to(one) for slope_BT, one in zip(slopes.values(), said)]
        assert self._hidden_ND is not None
        # All ranks go back through all that they read, whether or not a number of it was asked for.
        torch.autograd.backward([*said, self._hidden_ND], [*given, torch.zeros_like(self._hidden_ND)])
        self.forget()

    def drop(self) -> None:
        """Forget what was read last and the gradient."""
        self.forget()
        self._optimizer.zero_grad(set_to_none=True)

    def forget(self) -> None:
        """Forget what was read last, but not the gradient."""
        self._reading = self._hidden_ND = None
        self._said = {}
        self._gather_no_more()

    def step(self, learning_rate: float) -> tuple[float, list[str]]:
        """Clip and step; the gradient's length before, and the names of what in it is not finite. The gradient is gone
        afterwards, and the weights are as they were where its length is not finite."""
        trained = self._trained.values()
        norm = _whole(gradient_norm(trained))
        if math.isfinite(norm.item()):
            clip_norm = self.options.clip_norm
            take_step(self._optimizer, trained, norm=norm, clip_norm=clip_norm, learning_rate=learning_rate)
            return norm.item(), []
        bad = not_finite((name, _local(p.grad)) for name, p in self._trained.items() if p.grad is not None)
        self.drop()
        return norm.item(), bad


def _split(
    model: Model, critic: nn.Linear | None, copy: Model | None, device: torch.device
) -> tuple[nn.Module, nn.Module | None]:
    """Split a model, and a copy of it that never trains; what gathers the weights of either outside of its layers.

    Layer by layer: rank 0 hands its weights around, each rank keeps its parts, and goes on. No rank ever has more than
    one layer whole besides what it had before.
    """
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import FSDPModule, fully_shard

    mesh = init_device_mesh(device.type, (dist.get_world_size(),))
    root = _Root(model.module, critic)
    root_of_copy = None if copy is None else _Root(copy.module.requires_grad_(False), None)
    for module in [root] if root_of_copy is None else [root, root_of_copy]:
        for name, buffer in module.named_buffers():
            owner, _, own = name.rpartition(".")
            module.get_submodule(owner)._buffers[own] = buffer.to(device)
    layers = list(model.layers()) if isinstance(model, ShardableModel) else []
    copies: list[Any] = list(copy.layers()) if isinstance(copy, ShardableModel) else [None] * len(layers)
    for unit, twin in zip([*layers, root], [*copies, root_of_copy]):
        _receive(unit.module if unit is root else unit, None if twin is None else _inside(twin), device)
        for part in (unit, twin):
            if part is not None:
                fully_shard(part, mesh=mesh)
    for part in root.modules():
        if isinstance(part, FSDPModule):
            part.set_gradient_divide_factor(1.0)
            part.set_force_sum_reduction_for_comms(True)
    return root, root_of_copy


def _inside(unit: nn.Module) -> nn.Module:
    return unit.module if isinstance(unit, _Root) else unit


def _receive(unit: nn.Module, twin: nn.Module | None, device: torch.device) -> None:
    """Give a layer, or the rest when all layers are split, the weights of rank 0, and its twin copies of them."""
    found: dict[int, nn.Parameter] = {}
    of_twin: dict[int, nn.Parameter] = {}
    others = [None] * len(list(unit.parameters())) if twin is None else list(twin.parameters())
    for parameter, other in zip(unit.parameters(), others):
        if hasattr(parameter, "full_tensor"):
            continue
        whole = torch.empty_like(parameter, device=device) if parameter.is_meta else parameter.detach().to(device)
        dist.broadcast(whole, src=0)
        found[id(parameter)] = nn.Parameter(whole, requires_grad=parameter.requires_grad)
        if other is not None:
            of_twin[id(other)] = nn.Parameter(whole.clone(), requires_grad=False)
    replace_parameters(unit, found)
    if twin is not None:
        replace_parameters(twin, of_twin)


def _whole(tensor: Any) -> Tensor:
    return tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor


def _local(tensor: Any) -> Tensor:
    return tensor.to_local() if hasattr(tensor, "to_local") else tensor
