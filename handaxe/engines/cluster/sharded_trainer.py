"""Trainer of one rank: forward, backward and optimiser step of a model sharded by torch's FSDP2.

A layer's weights are gathered only while the layer runs. Weights outside the layers (embedding, last norm, head,
critic) stay gathered from the forward pass of a batch to the end of its backward pass. Gradients are summed over ranks,
not averaged, because a loss is divided by denominators of the whole optimiser step.

All ranks run every method at the same time, because collectives need all of them. A rank without rows, or with fewer
trees than another rank, reads a single placeholder token with gradient 0.

Legend: R ranks, B rows, T tokens, N computed tokens, D width.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch import distributed as dist

from handaxe.core.batch import Batch
from handaxe.core.errors import InputError
from handaxe.core.heads import Head
from handaxe.core.images import Image
from handaxe.core.model_api import AdapterModel, LinearHeadModel, Model, ShardableModel, TreeModel, VisionModel
from handaxe.core.protocols import HiddenMeasure
from handaxe.engines.cluster.meta_model import meta_model, replace_parameters
from handaxe.engines.cluster.rank_images import ImageReceiver
from handaxe.engines.cluster.shard_rows import RankRows
from handaxe.engines.cluster.sharded_checkpointing import ShardedCheckpointing
from handaxe.engines.local.heads import EngineHead, head_parameters, make_heads
from handaxe.engines.local.measure_requests import bare_batch
from handaxe.engines.local.modules import adamw, eval_mode, value_head
from handaxe.engines.local.nonfinite import nonfinite_names
from handaxe.engines.local.optimizer_step import (
    drop_model_gradient,
    drop_policy_gradient,
    gradient_norm,
    take_step,
)
from handaxe.engines.local.packing import Layout, Packing, hidden_states
from handaxe.engines.local.token_measures import TokenMeasures, make_reader
from handaxe.ops.token_trees import build_forest, make_pack

__all__ = ["ShardedOptions", "ShardedTrainer", "probe_model"]


class ShardedOptions(NamedTuple):
    """Options of every rank of an engine; see `ClusterEngine`."""

    critic: bool = False
    heads: Mapping[str, Head] = {}
    reference: bool = False
    weight_decay: float = 0.0
    betas: tuple[float, float] = (0.9, 0.95)
    clip_norm: float = 1.0
    packing: Packing = "tree"
    pack_tokens: int = 1024
    gradient_checkpointing: bool = False


PLACEHOLDER = RankRows(
    torch.zeros(1, 1, dtype=torch.int64), torch.ones(1, 1).bool(), torch.zeros(1, 1).bool(), torch.ones(1)
)

GREY = 32
"""Side in pixels of the image that a rank without images reads."""


def probe_model(model: Model) -> Model:
    """Run the capability probes of a model, which need unsharded weights, and return the model.

    Raises:
        InputError: the head is not a matrix product: computing logits would call the layers, a number of times that
            differs between ranks.
    """
    with eval_mode(model.module), torch.no_grad():
        if isinstance(model, TreeModel):
            model.reads_trees()
        if isinstance(model, LinearHeadModel) and model.linear_head() is None:
            raise InputError(
                "this model caps or scales the logits of its output layer, or has an adapter on that layer, so it "
                "cannot be sharded over ranks: train it with LocalEngine"
            )
    return model


class _Root(nn.Module):
    """FSDP unit of the weights outside the layers: a call gathers the weights and runs a forward function."""

    def __init__(self, module: nn.Module, critic: nn.Linear | None, heads: Mapping[str, EngineHead]):
        super().__init__()
        self.module = module
        self.critic = critic
        self.heads = nn.ModuleList(nn.ModuleList(head.layers) for head in heads.values())

    def forward(self, run: Callable[[], Tensor]) -> Tensor:
        hidden_ND = run()
        return hidden_ND.clone() if hidden_ND._is_view() else hidden_ND  # torch cannot hook a view


class ShardedTrainer(ShardedCheckpointing):
    """Shard of a model and of the optimiser's state on a rank; needs an initialised process group.

    Args:
        model: checked by `probe_model`. Rank 0 passes the model with weights, the other ranks a `meta_model`.
        options: equal on every rank.
        device: of this rank.
    """

    def __init__(self, model: Model, options: ShardedOptions, *, device: str | torch.device = "cpu"):
        self._reader = make_reader(
            model,
            packing=options.packing,
            pack_tokens=options.pack_tokens,
            gradient_checkpointing=options.gradient_checkpointing,
        )
        self.model, self.options = model, options
        self.device = torch.device(device)
        self._meta = meta_model(model)
        floating = next(p.dtype for p in model.module.parameters() if p.is_floating_point())
        dtype = torch.promote_types(floating, torch.float32)
        self._critic = value_head(model.hidden_size, dtype, self.device) if options.critic else None
        self._heads = make_heads(options.heads, model.hidden_size, dtype, self.device)
        self._adapter = model if options.reference and isinstance(model, AdapterModel) else None
        self._reference = meta_model(model) if options.reference and self._adapter is None else None
        self._root, self._reference_root = _shard_model(model, self._critic, self._heads, self._reference, self.device)
        self._trained = {f"weights.{k}": p for k, p in model.module.named_parameters() if p.requires_grad}
        if self._critic is not None:
            self._trained |= {f"critic.{k}": p for k, p in self._critic.named_parameters()}
        self._trained |= head_parameters(self._heads)
        if not self._trained:
            raise InputError("no parameter of the model requires a gradient: there is nothing to train")
        self._optimizer = adamw(self._trained, weight_decay=options.weight_decay, betas=options.betas)
        self._images = ImageReceiver()
        self._measures: TokenMeasures | None = None
        self._hidden_ND: Tensor | None = None
        self._outputs: dict[str, Tensor] = {}

    def share_untrained(self, other: ShardedTrainer) -> None:
        """Take the shards of the untrained weights from a trainer of an equal model, instead of copies.

        A shard that torch pads, because its rows do not divide by the ranks, stays a copy.
        """
        named = other.model.module.named_parameters(remove_duplicate=False)
        shared = {name: p.detach() for name, p in named if not p.requires_grad}
        self.model.module.load_state_dict(shared, strict=False, assign=True)

    def parameters(self) -> list[Tensor]:
        """This rank's shards of all weights, also of heads and of the reference."""
        roots = [self._root] if self._reference_root is None else [self._root, self._reference_root]
        return [_local(p.detach()) for root in roots for p in root.parameters()]

    # --- measuring -------------------------------------------------------------------------------------------------

    @torch.no_grad()
    def measure(
        self, rows: RankRows | None, names: Sequence[str | HiddenMeasure], reference: bool, size: int, passes: int
    ) -> dict[str, Tensor]:
        """[B, T] or [B, T, K] tensors by name, without gradient; reads `size` rows at a time in `passes` passes."""
        batch = self._batch(rows)
        order_B = self._reader.order(self.model, batch)
        parts = [*order_B.split(size), *[None] * passes][:passes]
        out: dict[str, Tensor] = {}
        switched = self._adapter.without_adapter() if reference and self._adapter is not None else nullcontext()
        with switched:
            for index in parts:
                part = self._batch(None) if index is None else batch.rows(index.to(batch.ids_BT.device))
                values = self._forward(part, reference=reference)[0].measure(names, self._critic, self._heads)
                for name, value_BT in values.items() if index is not None else ():
                    out_BT = out.setdefault(name, value_BT.new_zeros(batch.ids_BT.shape + value_BT.shape[2:]))
                    out_BT[index, : value_BT.shape[1]] = value_BT
        self._reshard(reference)
        return {name: value_BT.cpu() for name, value_BT in out.items()}

    def _forward(self, batch: Batch, *, reference: bool = False) -> tuple[TokenMeasures, Tensor]:
        copied = reference and self._reference is not None
        model, root = (self._reference, self._reference_root) if copied else (self.model, self._root)
        assert model is not None and root is not None
        with eval_mode(root):
            layout = self._equalize_packs(self._reader.layout(model, batch))
            hidden_ND = root(partial(_hidden_states, model, batch, layout))
            return TokenMeasures(model, batch, layout, hidden_ND, batch.mask_BT.clone()), hidden_ND

    def _equalize_packs(self, layout: Layout) -> Layout:
        """Append placeholder packs up to the largest number of packs of any rank."""
        count = torch.tensor(len(layout.packs), device=self.device)
        dist.all_reduce(count, op=dist.ReduceOp.MAX)
        if not layout.packs:
            return layout
        placeholder = make_pack(build_forest([np.zeros(1, np.int64)]), [0], self.device)
        return layout._replace(packs=(*layout.packs, *[placeholder] * (int(count) - len(layout.packs))))

    def _batch(self, rows: RankRows | None) -> Batch:
        *tensors, images = PLACEHOLDER if rows is None else rows
        batch = bare_batch(*tensors).map(lambda tensor: tensor.to(self.device))
        return replace(batch, images=self._images.restore(images)) if images else batch

    def _reshard(self, reference: bool = False) -> None:
        root = self._reference_root if reference and self._reference_root is not None else self._root
        root.reshard()  # type: ignore[operator]

    # --- training --------------------------------------------------------------------------------------------------

    def forward(self, rows: RankRows | None, names: Sequence[str]) -> dict[str, Tensor]:
        """[B, T] tensors by name; keeps the autograd graph for `backward`. A rank without rows returns [1, 1]."""
        self._measures, self._hidden_ND = self._forward(self._batch(rows))
        self._outputs = {}
        return self.measure_more(names)

    def measure_more(self, names: Sequence[str]) -> dict[str, Tensor]:
        """Further tensors of the last forward pass."""
        assert self._measures is not None
        with eval_mode(self._root):
            self._outputs |= self._measures.measure(names, self._critic, self._heads)
        return {name: self._outputs[name].detach().cpu() for name in names}

    def backward(self, grads: Mapping[str, Tensor]) -> None:
        """Continue the backward pass from d loss / d output [B, T] of the last forward pass. A rank without rows is
        given zeros."""
        outputs = [self._outputs[name] for name in grads]
        output_grads = [grad_BT.to(output) for grad_BT, output in zip(grads.values(), outputs)]
        assert self._hidden_ND is not None
        # Every rank runs backward through its whole forward pass, because collectives need all ranks.
        torch.autograd.backward([*outputs, self._hidden_ND], [*output_grads, torch.zeros_like(self._hidden_ND)])
        self.release()

    def drop_gradient(self) -> None:
        """Drop the last forward pass and the gradient."""
        self.release()
        self._optimizer.zero_grad(set_to_none=True)

    def release(self) -> None:
        """Drop the last forward pass and reshard the weights; the gradient stays."""
        self._measures = self._hidden_ND = None
        self._outputs = {}
        self._reshard()

    def step(
        self, learning_rate: float, critic_rate: float | None = None, reaches_model: bool = True
    ) -> tuple[float, list[str]]:
        """Clip the gradient, step, zero the gradient.

        Args:
            learning_rate, critic_rate: as of the engine.
            reaches_model: False if only heads with a frozen trunk have a gradient; the model's, 0, is dropped.

        Returns:
            The norm before clipping and the names of non-finite gradients; a non-finite norm skips the step and leaves
            the weights unchanged.
        """
        if not reaches_model:
            drop_model_gradient(self._trained)
        if critic_rate is not None and learning_rate == 0:
            drop_policy_gradient(self._trained)
        trained = self._trained.values()
        norm = _full(gradient_norm(trained))
        if math.isfinite(norm.item()):
            take_step(
                self._optimizer,
                trained,
                norm=norm,
                clip_norm=self.options.clip_norm,
                learning_rate=learning_rate,
                critic_rate=critic_rate,
            )
            return norm.item(), []
        nonfinite = nonfinite_names((name, _local(p.grad)) for name, p in self._trained.items() if p.grad is not None)
        self.drop_gradient()
        return norm.item(), nonfinite


def _hidden_states(model: Model, batch: Batch, layout: Layout) -> Tensor:
    """Hidden states [N, D]. If the vision tower trains, every rank reads an image, with gradient 0, so that every rank
    has a gradient of every weight to sum."""
    hidden_ND = hidden_states(model, batch, layout)
    if not isinstance(model, VisionModel) or not model.trains_vision:
        return hidden_ND
    grey = Image.of(np.full((GREY, GREY, 3), 127, np.uint8))
    return hidden_ND + 0 * torch.stack([part.sum() for part in model.image_features([grey])[0]]).sum()


def _shard_model(
    model: Model,
    critic: nn.Linear | None,
    heads: Mapping[str, EngineHead],
    copy: Model | None,
    device: torch.device,
) -> tuple[nn.Module, nn.Module | None]:
    """Shard a model and its frozen copy, if any; returns the FSDP units of the weights outside the layers.

    Rank 0 broadcasts layer by layer and each rank keeps its shard, so that no rank holds more than one additional whole
    layer.
    """
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import FSDPModule, fully_shard

    mesh = init_device_mesh(device.type, (dist.get_world_size(),))
    root = _Root(model.module, critic, heads)
    copy_root = None if copy is None else _Root(copy.module.requires_grad_(False), None, {})
    for module in [root] if copy_root is None else [root, copy_root]:
        for name, buffer in module.named_buffers():
            owner, _, buffer_name = name.rpartition(".")
            module.get_submodule(owner)._buffers[buffer_name] = buffer.to(device)
    layers = list(model.layers()) if isinstance(model, ShardableModel) else []
    copies: list[Any] = list(copy.layers()) if isinstance(copy, ShardableModel) else [None] * len(layers)
    for unit, twin in zip([*layers, root], [*copies, copy_root]):
        _broadcast(unit.module if unit is root else unit, None if twin is None else _unwrap(twin), device)
        for part in (unit, twin):
            if part is not None:
                fully_shard(part, mesh=mesh)
    for part in root.modules():
        if isinstance(part, FSDPModule):
            part.set_gradient_divide_factor(1.0)
            part.set_force_sum_reduction_for_comms(True)
    return root, copy_root


def _unwrap(unit: nn.Module) -> nn.Module:
    return unit.module if isinstance(unit, _Root) else unit


def _broadcast(unit: nn.Module, twin: nn.Module | None, device: torch.device) -> None:
    """Broadcast rank 0's weights of a unit, except for sharded layers, to all ranks and to the unit's frozen twin."""
    received: dict[int, nn.Parameter] = {}
    twin_received: dict[int, nn.Parameter] = {}
    twin_parameters = [None] * len(list(unit.parameters())) if twin is None else list(twin.parameters())
    for parameter, twin_parameter in zip(unit.parameters(), twin_parameters):
        if hasattr(parameter, "full_tensor"):
            continue
        full = torch.empty_like(parameter, device=device) if parameter.is_meta else parameter.detach().to(device)
        dist.broadcast(full, src=0)
        received[id(parameter)] = nn.Parameter(full, requires_grad=parameter.requires_grad)
        if twin_parameter is not None:
            twin_received[id(twin_parameter)] = nn.Parameter(full.clone(), requires_grad=False)
    replace_parameters(unit, received)
    if twin is not None:
        replace_parameters(twin, twin_received)


def _full(tensor: Any) -> Tensor:
    return tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor


def _local(tensor: Any) -> Tensor:
    return tensor.to_local() if hasattr(tensor, "to_local") else tensor
