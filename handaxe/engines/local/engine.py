"""The engine for one machine: plain torch, sampling and training with the same weights in the same process.

Shapes: B rows, T tokens.

Every verb runs the model with dropout off, so that the policy trained is the policy that sampled and the ratio of the
two is 1 before the first step; the modules' own train or eval modes are put back afterwards.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor

from handaxe.core.batch import Batch, LossOut
from handaxe.core.errors import InputError, TrainingError
from handaxe.core.model_api import AdapterModel, CachedModel, Model
from handaxe.core.protocols import HiddenMeasure, Loss
from handaxe.core.requests import Completion, Measure, Sample
from handaxe.engines.local.checkpointing import Checkpointing
from handaxe.engines.local.loss_grad import check_trained, loss_grad
from handaxe.engines.local.measure import check_measures, make_reader, measure_names
from handaxe.engines.local.measure_requests import measured
from handaxe.engines.local.modules import adamw, evaluating, frozen, value_head
from handaxe.engines.local.nonfinite import UNTOUCHED, explain_gradient, not_finite
from handaxe.engines.local.optimizer_step import check_rate, gradient_norm, take_step
from handaxe.engines.local.packing import Packing
from handaxe.engines.local.rounds import RoundStream
from handaxe.engines.local.stream import SlotStream

__all__ = ["LocalEngine"]

_OPTIONS: tuple[str, ...] = ("device", "weight_decay", "betas", "max_rows", "kept_tokens", "draft_tokens")
_OPTIONS += ("micro_batch_rows", "packing", "pack_tokens", "checkpointing")


class LocalEngine(Checkpointing):
    """Sample from and train one model on one device; implements `slots.Engine`.

    Trained are the model's parameters that require a gradient when the engine is made, by AdamW, with weight decay on
    matrices only (not on gains and biases). The optimiser is made once and lives as long as the engine.

    Args:
        model: moved to `device`. Keep its weights in float32: AdamW adds its small steps to them.
        device: "cpu", "cuda", "cuda:1", ...
        critic: adds a linear head on the trunk's hidden state after token t - 1, which is the state before token t.
            Every value is 0 before the first step. The trunk is shared with the policy: a value loss moves both.
        reference: keeps the model as it is now for `forward(reference=True)`: an `AdapterModel` with its adapter
            switched off, any other model as a copy.
        weight_decay: decoupled, per unit of learning rate.
        betas: AdamW's decay rates of the first and second moment.
        clip_norm: gradients longer than this, over all parameters together, are scaled to it; `math.inf` for never.
        max_rows: rows sampled at a time; bounds the memory of the cache.
        kept_tokens: tokens whose keys and values a stream keeps besides those of the rows at work, to go on from when a
            request begins alike; 0 keeps none. A token takes 2 * layers * key-value heads * head width numbers: the
            default is 134 MB for the tiny model and 1.5 GB for SmolLM2-135M, both in float32.
        draft_tokens: most tokens that are read ahead of a row in the hope that they are drawn next
            (`engines.local.drafts`); the same are drawn, up to float rounding. 0 decodes one token a forward; so does
            the tiny model always.
        micro_batch_rows: rows that `forward` reads at a time. `forward_backward` reads the batch it is given whole,
            since a loss may couple its rows: split the batch to bound its memory.
        packing: "tree" computes each distinct prefix of a batch once, and no padding; "rows" reads padded rows. The
            result is the same up to float rounding. A model that cannot read trees exactly (it lacks positions or
            attends a window) is read in rows.
        pack_tokens: most tokens that are read side by side as trees; a larger tree is read alone.
        checkpointing: compute the model's layers again for the gradient instead of keeping what they computed: about a
            third more time, memory of one layer instead of all. The gradient is the same.
    """

    def __init__(
        self,
        model: Model,
        *,
        device: str | torch.device = "cpu",
        critic: bool = False,
        reference: bool = False,
        weight_decay: float = 0.0,
        betas: tuple[float, float] = (0.9, 0.95),
        clip_norm: float = 1.0,
        max_rows: int = 256,
        kept_tokens: int = 32768,
        draft_tokens: int = 16,
        micro_batch_rows: int = 64,
        packing: Packing = "tree",
        pack_tokens: int = 1024,
        checkpointing: bool = False,
    ):
        given: dict[str, Any] = locals()
        self._options = {name: given[name] for name in _OPTIONS}
        if not clip_norm > 0 or max_rows < 1 or micro_batch_rows < 1 or kept_tokens < 0 or draft_tokens < 0:
            raise InputError("give clip_norm above 0, max_rows, micro_batch_rows from 1, kept_, draft_tokens from 0")
        self._reader = make_reader(model, packing=packing, pack_tokens=pack_tokens, checkpointing=checkpointing)
        self.version = 0
        self.model = model
        self.max_length = model.max_length
        self.pad_id = model.pad_id
        self.device = torch.device(device)
        self.clip_norm, self.micro_batch_rows = clip_norm, micro_batch_rows
        self.max_rows = max_rows
        self.kept_tokens = kept_tokens
        self.draft_tokens = draft_tokens
        model.module.to(self.device)
        floating = next(p.dtype for p in model.module.parameters() if p.is_floating_point())
        self._dtype = torch.promote_types(floating, torch.float32)
        self._critic = value_head(model.hidden_size, self._dtype, self.device) if critic else None
        self._adapter = model if reference and isinstance(model, AdapterModel) else None
        self._reference = frozen(model) if reference and self._adapter is None else None
        self._trained = {f"weights.{k}": p for k, p in model.module.named_parameters() if p.requires_grad}
        if self._critic is not None:
            self._trained |= {f"critic.{k}": p for k, p in self._critic.named_parameters()}
        if not self._trained:
            raise InputError("no parameter of the model requires a gradient, so there is nothing to train")
        self._optimizer = adamw(self._trained.values(), weight_decay=weight_decay, betas=betas)

    # --- sampling --------------------------------------------------------------------------------------------------

    def sample(self, requests: Sequence[Sample]) -> list[Completion]:
        """One completion a request, in order: a stream of its own, run to its end.

        Raises:
            InputError: naming the request that cannot be sampled; nothing is then sampled.
            TrainingError: when the model's logits are not finite.
        """
        # Requests that begin together share their beginnings anyway; a store helps those that wait for a slot.
        stream = self._stream(self.kept_tokens if len(requests) > self.max_rows else 0)
        try:
            tickets, done = [stream.submit(request) for request in requests], dict[int, Completion]()
            with evaluating(self.model.module):
                while len(stream):
                    done.update(stream.poll())
        finally:
            stream.close()
        return [done[ticket] for ticket in tickets]

    def stream(self) -> SlotStream | RoundStream:
        """Sampling that requests join and leave between two tokens, keys and values kept (`engines.local.stream`); in
        rounds
        for a model that cannot do that (`engines.local.rounds`)."""
        return self._stream(self.kept_tokens)

    def _stream(self, kept_tokens: int) -> SlotStream | RoundStream:
        cache = self.model.slots() if isinstance(self.model, CachedModel) else None
        if cache is None:
            return RoundStream(self.model, version=lambda: self.version, max_rows=self.max_rows)
        bounds = {"max_rows": self.max_rows, "kept_tokens": kept_tokens, "draft_tokens": self.draft_tokens}
        return SlotStream(self.model, cache, version=lambda: self.version, **bounds)

    # --- measuring -------------------------------------------------------------------------------------------------

    @torch.no_grad()
    def forward(
        self, batch: Batch, *, reference: bool = False, names: Sequence[str | HiddenMeasure] = ("logp",)
    ) -> dict[str, Tensor]:
        """Measure a batch without gradient.

        Args:
            batch: any number of rows; read `micro_batch_rows` at a time, like ones together.
            reference: ask the frozen reference model.
            names: any of "logp", "entropy", "collision" (see `ops.logprob`) and, with a critic, "value"; and what
                hidden states tell (`slots.HiddenMeasure`), which answers under its name.

        Returns:
            A [B, T] tensor for each name, measured at the tokens that train (`batch.mask_BT`) and 0 elsewhere, as a
            loss sees them: no logits are made for a prompt. For every token, say so:
            `forward(replace(batch, mask_BT=batch.attend_BT))`; column 0, before which nothing stands, stays 0.

        Raises:
            InputError: for an unknown name, or one that needs a critic or a reference that the engine lacks, or rows
                longer than the model's context.
        """
        if reference and self._reference is None and self._adapter is None:
            raise InputError("this engine keeps no reference model; make it with reference=True")
        check_measures(names, critic=self._critic is not None, reference=reference)
        out = {name: torch.zeros(batch.ids_BT.shape, dtype=self._dtype) for name in measure_names(names)}
        order_B = self._reader.order(self.model, batch)
        with evaluating(self.model.module):
            for index in order_B.split(self.micro_batch_rows) if len(batch) else ():
                part = batch.rows(index).map(lambda tensor: tensor.to(self.device))
                for name, value_BT in self._measure(part, names, reference).items():
                    out[name][index.cpu(), : value_BT.shape[1]] = value_BT.to("cpu", self._dtype)
        return {name: value_BT.to(batch.ids_BT.device) for name, value_BT in out.items()}

    def measure(self, requests: Sequence[Measure]) -> list[dict[str, list[float]]]:
        """What the model says of ids that are there, under the weights of now; see `exchange.Measure`.

        Raises:
            InputError: for ids that do not fit, an unknown name, or a reference that the engine lacks.
        """
        return measured(requests, self.forward, pad_id=self.pad_id, max_length=self.max_length)

    def _measure(self, batch: Batch, names: Sequence[str | HiddenMeasure], reference: bool) -> dict[str, Tensor]:
        switched = self._adapter.without_adapter() if reference and self._adapter is not None else nullcontext()
        model = self._reference if reference and self._reference is not None else self.model
        with switched:
            return self._reader.read(model, batch, batch.mask_BT).measure(names, self._critic)

    # --- training --------------------------------------------------------------------------------------------------

    def forward_backward(self, batch: Batch, loss: Loss) -> LossOut:
        """Add the gradient of the loss to what has gathered since the last `optim_step`.

        Returns:
            The loss, detached, and its metrics.

        Raises:
            TrainingError: when the loss is not finite (naming the metrics and rows that are not), does not depend on
                the model, or the optimiser step has nothing to train. The weights are untouched and the gathered
                gradient is dropped.
        """
        try:
            check_trained(batch)
            return self._forward_backward(batch.map(lambda tensor: tensor.to(self.device)), loss)
        except TrainingError:
            self._drop_gradient()
            raise

    def _forward_backward(self, batch: Batch, loss: Loss) -> LossOut:
        with evaluating(self.model.module):
            reading = self._reader.read(self.model, batch, batch.mask_BT)
            said = reading.measure(("logp",))
            if self._critic is not None:
                said["value"] = reading.value(self._critic)

            def entropy() -> Tensor:
                said.update(reading.measure(("entropy",)))
                return said["entropy"]

            out, slope = loss_grad(loss, batch, logp_BT=said["logp"], entropy=entropy, value_BT=said.get("value"))
            if slope:
                torch.autograd.backward([said[name] for name in slope], list(slope.values()))
        return out

    def optim_step(self, *, learning_rate: float) -> dict[str, float]:
        """Clip, step, zero the gradient, raise the version.

        Returns:
            grad_norm (before clipping), grad_clipped (1 when it was longer than `clip_norm`), learning_rate.

        Raises:
            TrainingError: when the gradient is not finite (naming the parameters) or there is none; the weights and
                the optimiser are untouched and the gathered gradient is dropped.
        """
        check_rate(learning_rate)
        if not self._has_gradient():
            raise TrainingError("there is no gradient to step along; call forward_backward first")
        trained = self._trained.values()
        norm_ = gradient_norm(trained)
        norm = norm_.item()
        if not math.isfinite(norm):
            bad = not_finite((name, p.grad) for name, p in self._trained.items() if p.grad is not None)
            self._drop_gradient()
            raise TrainingError(explain_gradient(bad, norm) + UNTOUCHED)
        take_step(self._optimizer, trained, norm=norm_, clip_norm=self.clip_norm, learning_rate=learning_rate)
        self.version += 1
        return {"grad_norm": norm, "grad_clipped": float(norm > self.clip_norm), "learning_rate": learning_rate}

    def twin(self, *, reference: bool = False, critic: bool = False, clip_norm: float = 1.0) -> LocalEngine:
        """A new engine, made as this one was, whose model and reference begin as this policy is now; its critic, where
        one is asked for, begins anew.

        Raises:
            InputError: for a reference where that is the model without its adapter, and steps were taken.
        """
        if reference and self.version and isinstance(self.model, AdapterModel):
            raise InputError("the reference of a model with an adapter is the model without it: twin it before steps")
        given: dict[str, Any] = {"reference": reference, "critic": critic, "clip_norm": clip_norm, **self._options}
        return LocalEngine(copy.deepcopy(self.model), **given)
