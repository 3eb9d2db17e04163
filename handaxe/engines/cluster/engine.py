"""The engine for several processes: ranks that train one model together, and what samples from it.

The driver keeps the losses. Ranks read rows and say what the model says of them; the driver runs the loss on the whole
batch and sends back how it changes with each number (`engines.local.loss_grad`); the ranks go backward from there.

Shapes: B rows, T tokens.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from handaxe.core.batch import Batch, LossOut
from handaxe.core.errors import InputError, TrainingError
from handaxe.core.model_api import AdapterModel, Model
from handaxe.core.protocols import HiddenMeasure, Loss, Stream
from handaxe.core.requests import Completion, Measure, Sample
from handaxe.engines.cluster.checkpointing import ClusterCheckpointing
from handaxe.engines.cluster.ranks import Ranks
from handaxe.engines.cluster.sampling import DriverSampler, FreshStream
from handaxe.engines.cluster.shard_rows import cut_rows, lay_down, rank_rows, shard_rows
from handaxe.engines.cluster.sharded import ShardedOptions
from handaxe.engines.local.loss_grad import check_trained, loss_grad
from handaxe.engines.local.measure import Reader, check_measures, measure_names
from handaxe.engines.local.measure_requests import measured
from handaxe.engines.local.nonfinite import UNTOUCHED, explain_gradient
from handaxe.engines.local.optimizer_step import check_rate
from handaxe.engines.local.packing import Packing
from handaxe.engines.vllm.servers import VllmServers
from handaxe.engines.vllm.weights import ServedPolicy, write_config

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["ClusterEngine"]


class ClusterEngine(ClusterCheckpointing):
    """Train one model on several ranks, split over them; implements `slots.Engine`, as `LocalEngine` does.

        with ClusterEngine(partial(load, "smollm2"), trainers=2) as engine:
            train(engine=engine, ...)

    A rank holds its part of the weights and of the optimiser's moments. Use it as a context manager, or call `close`:
    no process is left then, nor after an error that ends the ranks, nor when this process ends.

    Args:
        load: makes the model, in the process of rank 0; the others receive their parts. What it returns may be a model
            or what `handaxe.load` returns. Also a model in hand, which is sent to rank 0.
        trainers: how many ranks to start; or `Ranks` that run already and go on when this engine is closed.
        servers: addresses of vLLM servers that sample; see `engines.vllm.servers`.
        start_servers: how many of them to start; with none and none given this process samples.
        server_options: of vLLM, for servers that are started, such as ["--enforce-eager"].
        address: of a Ray cluster, as of `Ranks`; None for processes of this machine.
        device: of the ranks, "cpu" or "cuda"; None is "cuda" where this machine has a GPU for each.
        timeout: seconds that any call to the ranks may take.
        critic, reference, weight_decay, betas, clip_norm, packing, pack_tokens, checkpointing: as of `LocalEngine`, but
            that trees of `pack_tokens` are packed on each rank.
        micro_batch_rows: rows that a rank reads at a time in `forward`. `forward_backward` reads all of a batch, each
            rank its own rows.
        max_rows, kept_tokens, draft_tokens: of sampling in this process, as of `LocalEngine`.

    Raises:
        InputError: the extra is missing, the cluster has no room, or what `load` raises.
        TrainingError: from any verb, naming rank and phase, when a rank died or was silent: this engine has then ended.
    """

    def __init__(
        self,
        load: Callable[[], Any] | Model,
        *,
        trainers: int | Ranks = 1,
        servers: Sequence[str] = (),
        start_servers: int = 0,
        server_options: Sequence[str] = (),
        address: str | None = None,
        device: str | None = None,
        timeout: float = 600.0,
        critic: bool = False,
        reference: bool = False,
        weight_decay: float = 0.0,
        betas: tuple[float, float] = (0.9, 0.95),
        clip_norm: float = 1.0,
        packing: Packing = "tree",
        pack_tokens: int = 1024,
        checkpointing: bool = False,
        micro_batch_rows: int = 64,
        max_rows: int = 256,
        kept_tokens: int = 32768,
        draft_tokens: int = 16,
    ):
        if not clip_norm > 0 or micro_batch_rows < 1 or start_servers < 0:
            raise InputError("give clip_norm above 0, micro_batch_rows from 1, start_servers from 0")
        self._sampling: dict[str, Any] = {
            "max_rows": max_rows,
            "kept_tokens": kept_tokens,
            "draft_tokens": draft_tokens,
        }
        self._options = ShardedOptions(
            critic, reference, weight_decay, (betas[0], betas[1]), clip_norm, packing, pack_tokens, checkpointing
        )
        self.version = 0
        self.micro_batch_rows, self.clip_norm = micro_batch_rows, clip_norm
        self._gathered, self._changes = False, 0
        self._servers: VllmServers | None = None
        self._owned = not isinstance(trainers, Ranks)
        started = (
            Ranks(trainers, address=address, device=device, timeout=timeout) if isinstance(trainers, int) else trainers
        )
        self.ranks = started
        try:
            self._key, self._hollow = started.load(load, self._options)
            self.max_length, self.pad_id = self._hollow.max_length, self._hollow.pad_id
            floating = next(p.dtype for p in self._hollow.module.parameters() if p.is_floating_point())
            self._dtype = torch.promote_types(floating, torch.float32)
            here = "cuda" if started.device == "cuda" and torch.cuda.is_available() else "cpu"
            self._sampler = DriverSampler(self._hollow, self.pieces, device=here, **self._sampling)
            if servers or start_servers:
                self._servers = self._served(servers, start_servers, server_options, timeout)
        except BaseException:
            if self._owned:
                started.close()
            raise

    def _served(
        self, servers: Sequence[str], start_servers: int, options: Sequence[str], timeout: float
    ) -> VllmServers:
        policy = ServedPolicy(
            version=lambda: self.version,
            mark=lambda: (self.version, self._changes),
            gather=lambda: dict(self.gather()),
            score=lambda ids: self.measure([Measure(list(ids), 1, names=("logp",))])[0]["logp"],
            vocab_size=self._hollow.vocab_size,
            max_length=self.max_length,
        )
        describe = partial(write_config, self._hollow.module)
        return VllmServers(
            policy,
            servers=servers,
            start_servers=start_servers,
            write_config=describe,
            options=options,
            start_timeout=timeout,
        )

    # --- beginning and ending --------------------------------------------------------------------------------------

    def __enter__(self) -> ClusterEngine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End everything that was started for this engine; a second time does nothing."""
        if self._servers is not None:
            self._servers.close()
        if self._owned:
            self.ranks.close()
        elif self._key:
            self.ranks.forget(self._key)
        self._key = 0

    # --- sampling --------------------------------------------------------------------------------------------------

    def sample(self, requests: Sequence[Sample]) -> list[Completion]:
        """One completion a request, in order.

        Raises:
            InputError: naming the request that cannot be sampled; nothing is then sampled.
        """
        if self._servers is not None:
            return self._servers.sample(requests)
        return self._sampler.fresh(self.version).sample(requests)

    def stream(self) -> Stream:
        """Sampling that requests join and leave; after a step they go on under the new weights."""
        if self._servers is not None:
            return self._servers.stream()
        return FreshStream(self._sampler, lambda: self.version)

    # --- measuring -------------------------------------------------------------------------------------------------

    def forward(
        self, batch: Batch, *, reference: bool = False, names: Sequence[str | HiddenMeasure] = ("logp",)
    ) -> dict[str, Tensor]:
        """Measure a batch without gradient; see `LocalEngine.forward`.

        Raises:
            InputError: for an unknown name, or one that needs a critic or a reference that the engine lacks, or rows
                longer than the model's context.
        """
        if reference and not self._options.reference:
            raise InputError("this engine keeps no reference model; make it with reference=True")
        check_measures(names, critic=self._options.critic, reference=reference)
        dealt = self._deal(batch)
        passes = -(-max(map(len, dealt)) // self.micro_batch_rows)
        each = [
            (rows, tuple(names), reference, self.micro_batch_rows, passes)
            for rows in (rank_rows(batch, index) for index in dealt)
        ]
        out = {name: torch.zeros(batch.ids_BT.shape, dtype=self._dtype) for name in measure_names(names)}
        for index, said in zip(dealt, self._call("forward", "measure", each)) if passes else ():
            lay_down(out, said, index)
        return {name: value_BT.to(batch.ids_BT.device) for name, value_BT in out.items()}

    def measure(self, requests: Sequence[Measure]) -> list[dict[str, list[float]]]:
        """What the model says of ids that are there, under the weights of now; see `exchange.Measure`.

        Raises:
            InputError: for ids that do not fit, an unknown name, or a reference that the engine lacks.
        """
        return measured(requests, self.forward, pad_id=self.pad_id, max_length=self.max_length)

    # --- training --------------------------------------------------------------------------------------------------

    def forward_backward(self, batch: Batch, loss: Loss) -> LossOut:
        """Add the gradient of the loss to what has gathered since the last `optim_step`. The loss runs here, once, on
        the whole batch.

        Raises:
            TrainingError: as `LocalEngine.forward_backward`.
        """
        try:
            check_trained(batch)
            return self._forward_backward(batch, loss)
        except TrainingError:
            self._drop_gradient()
            raise

    def _forward_backward(self, batch: Batch, loss: Loss) -> LossOut:
        batch = batch.map(lambda tensor: tensor.cpu())
        dealt = self._deal(batch)
        parts = [rank_rows(batch, index) for index in dealt]
        names = ("logp", "value") if self._options.critic else ("logp",)
        read = self._call("read", "read", [(rows, names) for rows in parts])
        out, slope = self._loss(batch, loss, dealt, read)
        if slope:
            given = [
                {name: cut_rows(slope_BT, index, rows) for name, slope_BT in slope.items()}
                for index, rows in zip(dealt, parts)
            ]
            self._call("backward", "back", [(one,) for one in given])
            self._gathered = True
        else:
            self._call("backward", "forget")
        return out

    def _loss(
        self, batch: Batch, loss: Loss, dealt: Sequence[Tensor], read: Sequence[dict[str, Tensor]]
    ) -> tuple[LossOut, dict[str, Tensor]]:
        def joined(each: Sequence[dict[str, Tensor]]) -> dict[str, Tensor]:
            whole = {name: torch.zeros(batch.ids_BT.shape, dtype=one.dtype) for name, one in each[0].items()}
            for index, said in zip(dealt, each):
                lay_down(whole, said, index)
            return whole

        def entropy() -> Tensor:
            return joined(self._call("entropy", "more", [(("entropy",),)] * self.ranks.count))["entropy"]

        said = joined(read)
        try:
            return loss_grad(loss, batch, logp_BT=said["logp"], entropy=entropy, value_BT=said.get("value"))
        except Exception:
            if not self.ranks.ended:
                self._call("backward", "forget")
            raise

    def optim_step(self, *, learning_rate: float) -> dict[str, float]:
        """Clip, step, zero the gradient, raise the version.

        Returns:
            grad_norm (before clipping), grad_clipped (1 when it was longer than `clip_norm`), learning_rate; with
            servers also of the last push of weights, which came before what was sampled last: push_seconds, and
            push_gap, the largest difference of a fixed row's log-probs between servers and ranks.

        Raises:
            TrainingError: as `LocalEngine.optim_step`.
        """
        check_rate(learning_rate)
        if not self._gathered:
            raise TrainingError("there is no gradient to step along; call forward_backward first")
        each = self._call("step", "step", [(learning_rate,)] * self.ranks.count)
        self._gathered = False
        norm = each[0][0]
        if not math.isfinite(norm):
            bad = sorted({name for _, names in each for name in names})
            raise TrainingError(explain_gradient(bad, norm) + UNTOUCHED)
        self.version += 1
        found = {"grad_norm": norm, "grad_clipped": float(norm > self.clip_norm), "learning_rate": learning_rate}
        return found if self._servers is None else found | self._servers.metrics

    def twin(self, *, reference: bool = False, critic: bool = False, clip_norm: float = 1.0) -> ClusterEngine:
        """A new engine on the same ranks, whose model and reference begin as this policy is now; its critic, where one
        is asked for, begins anew.

        Raises:
            InputError: for a reference where that is the model without its adapter, and steps were taken.
        """
        if reference and self.version and isinstance(self._hollow, AdapterModel):
            raise InputError("the reference of a model with an adapter is the model without it: twin it before steps")
        given = self._options._asdict() | {"critic": critic, "reference": reference, "clip_norm": clip_norm}
        return ClusterEngine(
            self.whole(), trainers=self.ranks, micro_batch_rows=self.micro_batch_rows, **given, **self._sampling
        )

    # --- the ranks -------------------------------------------------------------------------------------------------

    def _deal(self, batch: Batch) -> list[Tensor]:
        """Rows for each rank. Whatever a rank might refuse is refused here, before any has begun."""
        longest = int(batch.attend_BT.sum(1).max()) if len(batch) else 0
        if longest > self.max_length:
            raise InputError(f"the batch has rows of {longest} tokens, the model reads {self.max_length}")
        reader = Reader(self._options.packing, self._options.pack_tokens)
        return shard_rows(batch, self.ranks.count, trees=reader.uses_trees(self._hollow))

    def _call(self, phase: str, method: str, each: Sequence[tuple] | None = None) -> list[Any]:
        return self.ranks.call(self._key, phase, method, each)

    def _drop_gradient(self) -> None:
        if self._gathered and not self.ranks.ended:
            self._call("drop", "drop")
        self._gathered = False
