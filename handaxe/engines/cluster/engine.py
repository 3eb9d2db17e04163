"""Engine of several processes: ranks train one model (FSDP2), the driver or vLLM servers sample.

The loss runs in the driver, on the whole batch: ranks compute log-probs of their rows, the driver computes the loss and
its gradient with respect to the log-probs (`engines.local.loss_grad`), and ranks continue the backward pass.

Shapes: B rows, T tokens.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from handaxe.core.batch import Batch, LossOut
from handaxe.core.errors import InputError, NonFiniteError, TrainingError
from handaxe.core.heads import HEAD, Head
from handaxe.core.model_api import AdapterModel, Model, VisionModel
from handaxe.core.protocols import HiddenMeasure, Loss, Stream
from handaxe.core.requests import Completion, Measure, Sample
from handaxe.engines.cluster.driver_checkpointing import DriverCheckpointing
from handaxe.engines.cluster.driver_sampling import DriverSampler, DriverStream
from handaxe.engines.cluster.rank_images import ImageSender
from handaxe.engines.cluster.ranks import Ranks
from handaxe.engines.cluster.shard_rows import RankRows, scatter_rows, select_rows, shard_rows, slice_rows
from handaxe.engines.cluster.sharded_trainer import ShardedOptions
from handaxe.engines.local.heads import check_head_names
from handaxe.engines.local.loss_grad import check_trainable, loss_grad
from handaxe.engines.local.measure_requests import measure_requests
from handaxe.engines.local.nonfinite import UNTOUCHED, explain_gradient
from handaxe.engines.local.optimizer_step import check_learning_rate
from handaxe.engines.local.packing import Packing
from handaxe.engines.local.token_measures import Reader, check_measures, zero_measures
from handaxe.engines.vllm.servers import VllmServers
from handaxe.engines.vllm.weight_transfer import ServedPolicy, write_config

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["ClusterEngine"]


class ClusterEngine(DriverCheckpointing):
    """Training of a model sharded over several ranks; implements `core.protocols.Engine`, like `LocalEngine`.

        with ClusterEngine(partial(load, "smollm2"), trainers=2) as engine:
            train(engine=engine, ...)

    Each rank holds a shard of the weights and of the optimiser's moments. Use the engine as a context manager, or call
    `close`. No process is left after `close`, after an error that ends the ranks, or when this process ends.

    Args:
        load: returns the model, or the policy that `handaxe.load` returns; called in the process of rank 0, which sends
            the other ranks their shards. Or a loaded model, which is sent to rank 0.
        trainers: number of ranks to start; or running `Ranks`, which keep running when this engine is closed.
        servers: addresses of running vLLM servers for sampling; see `engines.vllm.servers`.
        start_servers: number of vLLM servers to start; without servers, this process samples.
        server_options: vLLM options of started servers, such as ["--enforce-eager"].
        colocate: the servers use the GPU of the ranks: their memory is freed while the ranks compute.
        address: of a Ray cluster, as in `Ranks`; None starts processes on this machine.
        device: of the ranks, "cpu" or "cuda"; None is "cuda" if this machine has one GPU a rank.
        timeout: seconds that a call to the ranks may take.
        critic, heads, reference, weight_decay, betas, clip_norm, packing, pack_tokens, gradient_checkpointing: as in
            `LocalEngine`; each rank packs trees of `pack_tokens`.
        micro_batch_rows: rows that a rank reads at a time in `forward`. `forward_backward` reads the whole batch, each
            rank its rows.
        max_rows, prefix_cache_tokens, draft_tokens, prefill_chunk, kept_image_tokens: of sampling in this process,
            as in `LocalEngine`.

    Raises:
        InputError: the extra is missing, the cluster has no free resources, or `load` raises it.
        TrainingError: from any method, if a rank died or timed out; the message names rank and phase, and the engine
            has ended.
    """

    def __init__(
        self,
        load: Callable[[], Any] | Model,
        *,
        trainers: int | Ranks = 1,
        servers: Sequence[str] = (),
        start_servers: int = 0,
        server_options: Sequence[str] = (),
        colocate: bool = False,
        address: str | None = None,
        device: str | None = None,
        timeout: float = 600.0,
        critic: bool = False,
        heads: Mapping[str, Head] | None = None,
        reference: bool = False,
        weight_decay: float = 0.0,
        betas: tuple[float, float] = (0.9, 0.95),
        clip_norm: float = 1.0,
        packing: Packing = "tree",
        pack_tokens: int = 1024,
        gradient_checkpointing: bool = False,
        micro_batch_rows: int = 64,
        max_rows: int = 256,
        prefix_cache_tokens: int = 32768,
        draft_tokens: int = 16,
        prefill_chunk: int = 2048,
        kept_image_tokens: int = 65_536,
    ):
        if colocate and not (servers or start_servers):
            raise InputError("colocate=True needs servers: give servers= or start_servers=")
        if not clip_norm > 0 or micro_batch_rows < 1 or start_servers < 0:
            raise InputError("clip_norm must be above 0, micro_batch_rows at least 1, start_servers at least 0")
        self._sampling: dict[str, Any] = {
            "max_rows": max_rows,
            "prefix_cache_tokens": prefix_cache_tokens,
            "draft_tokens": draft_tokens,
            "prefill_chunk": prefill_chunk,
            "kept_image_tokens": kept_image_tokens,
        }
        self._options = ShardedOptions(
            critic,
            dict(heads or {}),
            reference,
            weight_decay,
            (betas[0], betas[1]),
            clip_norm,
            packing,
            pack_tokens,
            gradient_checkpointing,
        )
        check_head_names(self._options.heads)
        self.heads = self._options.heads
        self.version = 0
        self.micro_batch_rows, self.clip_norm = micro_batch_rows, clip_norm
        self._has_gradient = self._reaches_model = False
        self._weight_loads = 0
        self._images: list[ImageSender] = []
        self._servers: VllmServers | None = None
        self._owned = not isinstance(trainers, Ranks)
        ranks = (
            Ranks(trainers, address=address, device=device, timeout=timeout) if isinstance(trainers, int) else trainers
        )
        self.ranks = ranks
        try:
            self._key, self._meta = ranks.load(load, self._options)
            self.max_length, self.pad_id = self._meta.max_length, self._meta.pad_id
            floating = next(p.dtype for p in self._meta.module.parameters() if p.is_floating_point())
            self._dtype = torch.promote_types(floating, torch.float32)
            driver_device = "cuda" if ranks.device == "cuda" and torch.cuda.is_available() else "cpu"
            self._sampler = DriverSampler(self._meta, self.iter_weights, device=driver_device, **self._sampling)
            if servers or start_servers:
                self._servers = self._make_servers(servers, start_servers, server_options, timeout, colocate=colocate)
                ranks.before_call = self._servers.sleep if colocate else None
        except BaseException:
            if self._owned:
                ranks.close()
            raise

    def _make_servers(
        self, servers: Sequence[str], start_servers: int, options: Sequence[str], timeout: float, *, colocate: bool
    ) -> VllmServers:
        policy = ServedPolicy(
            version=lambda: self.version,
            stamp=lambda: (self.version, self._weight_loads),
            gather=lambda: dict(self.iter_served_weights()),
            score=lambda ids, start=1, images=(): self.measure(
                [Measure(list(ids), start, names=("logp",), images=images)]
            )[0]["logp"],
            vocab_size=self._meta.vocab_size,
            max_length=self.max_length,
            model=self._meta if isinstance(self._meta, VisionModel) else None,
        )
        if colocate and self.ranks.device == "cuda":  # vLLM refuses the option on a CPU
            options = [*options, "--enable-sleep-mode"]
        return VllmServers(
            policy,
            servers=servers,
            start_servers=start_servers,
            write_config=partial(
                write_config, self._meta.module, image_processor=getattr(self._meta, "image_processor", None)
            ),
            options=options,
            start_timeout=timeout,
            free_trainer_memory=self.ranks.free_cached_memory if colocate else None,
        )

    # --- lifetime --------------------------------------------------------------------------------------------------

    def __enter__(self) -> ClusterEngine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End all processes of this engine. Idempotent."""
        if self._servers is not None:
            self._servers.close()
            self.ranks.before_call = None
        if self._owned:
            self.ranks.close()
        elif self._key:
            self.ranks.unload(self._key)
        self._key = 0

    # --- sampling --------------------------------------------------------------------------------------------------

    def sample(self, requests: Sequence[Sample]) -> list[Completion]:
        """Sample a completion per request, in order.

        Raises:
            InputError: a request cannot be sampled; the message names the request. No request is sampled.
        """
        if self._servers is not None:
            return self._servers.sample(requests)
        return self._sampler.engine(self.version).sample(requests)

    def stream(self) -> Stream:
        """Open a stream; after an optimiser step, running requests continue under the new weights."""
        if self._servers is not None:
            return self._servers.stream()
        return DriverStream(self._sampler, lambda: self.version)

    # --- measuring -------------------------------------------------------------------------------------------------

    def forward(
        self, batch: Batch, *, reference: bool = False, names: Sequence[str | HiddenMeasure] = ("logp",)
    ) -> dict[str, Tensor]:
        """Measure a batch without gradient; see `LocalEngine.forward`.

        Raises:
            InputError: a name is unknown or needs a critic or reference that the engine lacks, or rows are longer than
                the model's context.
        """
        if reference and not self._options.reference:
            raise InputError("this engine has no reference model; construct it with reference=True")
        check_measures(names, critic=self._options.critic, reference=reference, heads=self.heads)
        shards = self._shard(batch)
        passes = -(-max(map(len, shards)) // self.micro_batch_rows)
        arguments = [
            (rows, tuple(names), reference, self.micro_batch_rows, passes)
            for rows in self._prepare_images([select_rows(batch, index) for index in shards] if passes else [])
        ]
        out = zero_measures(names, batch, self.heads, self._dtype)
        for index, values in zip(shards, self._call("forward", "measure", arguments)) if passes else ():
            scatter_rows(out, values, index)
        return {name: value_BT.to(batch.ids_BT.device) for name, value_BT in out.items()}

    def measure(self, requests: Sequence[Measure]) -> list[dict[str, list[float]]]:
        """Measure given ids under the current weights; see `core.requests.Measure`.

        Raises:
            InputError: ids exceed the context, a name is unknown, or the engine has no reference model.
        """
        return measure_requests(requests, self.forward, pad_id=self.pad_id, max_length=self.max_length)

    # --- training --------------------------------------------------------------------------------------------------

    def forward_backward(self, batch: Batch, loss: Loss) -> LossOut:
        """Accumulate the gradient of the loss until the next `optim_step`. The loss runs once, in the driver, on the
        whole batch.

        Raises:
            TrainingError: as `LocalEngine.forward_backward`.
        """
        try:
            check_trainable(batch)
            return self._forward_backward(batch, loss)
        except TrainingError:
            self._drop_gradient()
            raise

    def _forward_backward(self, batch: Batch, loss: Loss) -> LossOut:
        batch = batch.map(lambda tensor: tensor.cpu())
        shards = self._shard(batch)
        parts = [select_rows(batch, index) for index in shards]
        names = ("logp", *["value"] * self._options.critic, *(HEAD + name for name in self.heads))
        outputs = self._call("read", "forward", [(rows, names) for rows in self._prepare_images(parts)])
        out, grads = self._loss(batch, loss, shards, outputs)
        if grads:
            rank_grads = [
                {name: slice_rows(grad_BT, index, rows) for name, grad_BT in grads.items()}
                for index, rows in zip(shards, parts)
            ]
            self._call("backward", "backward", [(grad,) for grad in rank_grads])
            earlier = self._has_gradient and self._reaches_model
            self._has_gradient, self._reaches_model = True, earlier or not grads.keys() <= self._frozen_trunks()
        else:
            self._call("backward", "release")
        return out

    def _loss(
        self, batch: Batch, loss: Loss, shards: Sequence[Tensor], outputs: Sequence[dict[str, Tensor]]
    ) -> tuple[LossOut, dict[str, Tensor]]:
        def join(rank_outputs: Sequence[dict[str, Tensor]]) -> dict[str, Tensor]:
            shape = batch.ids_BT.shape
            joined = {name: part.new_zeros(shape + part.shape[2:]) for name, part in rank_outputs[0].items()}
            for index, values in zip(shards, rank_outputs):
                scatter_rows(joined, values, index)
            return joined

        def entropy() -> Tensor:
            return join(self._call("entropy", "measure_more", [(("entropy",),)] * self.ranks.count))["entropy"]

        joined = join(outputs)
        try:
            return loss_grad(
                loss,
                batch,
                logp_BT=joined["logp"],
                entropy=entropy,
                value_BT=joined.get("value"),
                heads={name: joined[HEAD + name] for name in self.heads},
            )
        except Exception:
            if not self.ranks.ended:
                self._call("backward", "release")
            raise

    def _frozen_trunks(self) -> set[str]:
        """Outputs that carry no gradient to the model."""
        return {HEAD + name for name, head in self.heads.items() if head.trunk == "frozen"}

    def optim_step(self, *, learning_rate: float, critic_rate: float | None = None) -> dict[str, float]:
        """Clip the gradient, step the optimiser, zero the gradient, increment the version; see
        `LocalEngine.optim_step` for `critic_rate`.

        Returns:
            grad_norm (before clipping), grad_clipped (1 if grad_norm exceeded `clip_norm`, else 0), learning_rate. With
            servers also metrics of the last weight push, which preceded the last sampling: push_seconds, and push_gap,
            the largest difference between servers and ranks of the log-probs of a fixed row.

        Raises:
            TrainingError: as `LocalEngine.optim_step`.
        """
        check_learning_rate(learning_rate, critic_rate, critic=self._options.critic)
        if not self._has_gradient:
            raise TrainingError("there is no gradient to step along; call forward_backward first")
        results = self._call("step", "step", [(learning_rate, critic_rate, self._reaches_model)] * self.ranks.count)
        self._has_gradient = False
        norm = results[0][0]
        if not math.isfinite(norm):
            nonfinite = sorted({name for _, names in results for name in names})
            raise NonFiniteError(explain_gradient(nonfinite, norm) + UNTOUCHED)
        self.version += 1
        metrics = {"grad_norm": norm, "grad_clipped": float(norm > self.clip_norm), "learning_rate": learning_rate}
        return metrics if self._servers is None else metrics | self._servers.metrics

    def twin(
        self,
        *,
        reference: bool = False,
        critic: bool = False,
        clip_norm: float = 1.0,
        heads: Mapping[str, Head] | None = None,
    ) -> ClusterEngine:
        """Copy the engine onto the same ranks: policy and reference start from the current policy, a critic from 0, and
        heads from their initialization. Untrained weights are shared: engines with adapters have one base on the ranks.

        Raises:
            InputError: a reference is requested for an adapter model after optimiser steps: the reference of an adapter
                model is the base model, not the current policy.
        """
        if reference and self.version and isinstance(self._meta, AdapterModel):
            raise InputError(
                "the reference of an adapter model is the model without its adapter: call twin before the first step"
            )
        options = self._options._asdict() | {"critic": critic, "reference": reference, "clip_norm": clip_norm}
        options |= {"heads": heads, "micro_batch_rows": self.micro_batch_rows, **self._sampling}
        made = ClusterEngine(self.full_model(), trainers=self.ranks, **options)
        self.ranks.share(made._key, self._key)
        return made

    # --- ranks -----------------------------------------------------------------------------------------------------

    def _shard(self, batch: Batch) -> list[Tensor]:
        """Row indices for each rank. Invalid batches are refused before any rank is called."""
        longest = int(batch.attend_BT.sum(1).max()) if len(batch) else 0
        if longest > self.max_length:
            raise InputError(f"the batch has rows of {longest} tokens, the model reads {self.max_length}")
        reader = Reader(self._options.packing, self._options.pack_tokens)
        return shard_rows(batch, self.ranks.count, trees=reader.uses_trees(self._meta))

    def _prepare_images(self, parts: Sequence[RankRows | None]) -> list[RankRows | None]:
        """Rows for each rank, with digests in place of images that the rank holds."""
        self._images = self._images or [ImageSender() for _ in range(self.ranks.count)]
        return [
            rows if rows is None or not rows.images else rows._replace(images=sender.prepare(rows.images))
            for sender, rows in zip(self._images, parts)
        ]

    def _call(self, phase: str, method: str, arguments: Sequence[tuple] | None = None) -> list[Any]:
        return self.ranks.call(self._key, phase, method, arguments)

    def _drop_gradient(self) -> None:
        if self._has_gradient and not self.ranks.ended:
            self._call("drop", "drop_gradient")
        self._has_gradient = False
