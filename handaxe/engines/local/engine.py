"""Engine of one process: samples and trains the same weights in plain torch.

Shapes: B rows, T tokens.

Every method runs the model with dropout off: the trained policy equals the sampling policy, and the importance ratio is
1 before the first step. The modules' train and eval modes are restored afterwards.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor

from handaxe.core.batch import Batch, LossOut
from handaxe.core.errors import InputError, NonFiniteError, TrainingError
from handaxe.core.heads import HEAD, Head
from handaxe.core.model_api import AdapterModel, CachedModel, Model
from handaxe.core.protocols import HiddenMeasure, Loss
from handaxe.core.requests import Completion, Measure, Sample
from handaxe.engines.local.checkpointing import LocalCheckpointing
from handaxe.engines.local.continuous_batching import SlotStream
from handaxe.engines.local.device import find_device
from handaxe.engines.local.heads import head_parameters, make_heads
from handaxe.engines.local.image_keys import ImageKeys
from handaxe.engines.local.loss_grad import check_trainable, loss_grad
from handaxe.engines.local.master_weights import copy_to_model, gradients_to_masters, optimized_parameters
from handaxe.engines.local.measure_requests import measure_requests
from handaxe.engines.local.modules import adamw, copy_model, eval_mode, frozen_copy, value_head
from handaxe.engines.local.nonfinite import UNTOUCHED, explain_gradient, nonfinite_names
from handaxe.engines.local.optimizer_step import check_learning_rate, drop_policy_gradient, gradient_norm, take_step
from handaxe.engines.local.packing import Packing
from handaxe.engines.local.static_batching import RoundStream
from handaxe.engines.local.token_measures import check_measures, make_reader, zero_measures

__all__ = ["LocalEngine"]

_OPTIONS: tuple[str, ...] = ("device", "weight_decay", "betas", "max_rows", "prefix_cache_tokens", "draft_tokens")
_OPTIONS += ("micro_batch_rows", "packing", "pack_tokens", "gradient_checkpointing", "prefill_chunk")
_OPTIONS += ("kept_image_tokens",)


class LocalEngine(LocalCheckpointing):
    """Sampling and training of a model on a single device; implements `core.protocols.Engine`.

    AdamW trains the parameters that require a gradient at construction. Weight decay applies to matrices only, not to
    gains and biases. One optimiser lives as long as the engine.

    Args:
        model: moved to `device`. Trained weights in bfloat16 or float16 get float32 master weights for AdamW
            (`engines.local.master_weights`).
        device: "cpu", "cuda", "cuda:1", ...
        critic: adds a linear value head on the trunk's hidden state after token t - 1, the state before token t.
            Every value is 0 before the first step. Policy and critic share the trunk: a value loss trains both.
        heads: further heads by name, such as a reward model's: `forward(names=("head/NAME",))`, and
            `PolicyOut.heads` in a loss.
        reference: keeps a frozen reference model for `forward(reference=True)`: for an `AdapterModel` the model with
            the adapter switched off, for any other model a copy of the initial weights.
        weight_decay: decoupled, per unit of learning rate.
        betas: AdamW's decay rates of the first and second moment.
        clip_norm: largest gradient norm over all parameters; a larger gradient is scaled down. `math.inf` disables
            clipping.
        max_rows: rows sampled at a time; bounds the memory of the KV cache.
        prefix_cache_tokens: capacity of a stream's prefix cache (`engines.local.prefix_cache`), in tokens, in addition
            to the rows being decoded; 0 disables prefix caching. A token takes 2 * layers * key-value heads * head
            width numbers: the default takes 134 MB for the tiny model and 1.5 GB for SmolLM2-135M, both in float32.
        draft_tokens: longest draft of speculative decoding (`engines.local.ngram_drafts`). Drafts change no sampled
            token, up to float rounding. 0 decodes one token a forward pass; the tiny model always does.
        micro_batch_rows: rows that `forward` reads at a time. `forward_backward` reads its whole batch, because a loss
            may couple rows: split the batch to bound memory.
        packing: "tree" computes each distinct prefix of a batch once, without padding; "rows" reads padded rows.
            Results are equal up to float rounding. A model that cannot read trees exactly (no position ids, or window
            attention) is read in rows.
        pack_tokens: most tokens of trees that are read together; a larger tree is read alone.
        gradient_checkpointing: recompute layer activations in the backward pass: about a third more time, activation
            memory of one layer instead of all layers. The gradient is unchanged.
        prefill_chunk: most tokens of a prompt that sampling reads in a forward pass; a longer prompt is read in parts.
        kept_image_tokens: image tokens whose features a transformers model with vision keeps, those of the last images;
            0 computes the features of an image whenever a forward pass reads the image. A token takes the width of
            the language model, in each set of features. `model.vision.kept` has the counts.
    """

    def __init__(
        self,
        model: Model,
        *,
        device: str | torch.device = "cpu",
        critic: bool = False,
        heads: Mapping[str, Head] | None = None,
        reference: bool = False,
        weight_decay: float = 0.0,
        betas: tuple[float, float] = (0.9, 0.95),
        clip_norm: float = 1.0,
        max_rows: int = 256,
        prefix_cache_tokens: int = 32768,
        draft_tokens: int = 16,
        micro_batch_rows: int = 64,
        packing: Packing = "tree",
        pack_tokens: int = 1024,
        gradient_checkpointing: bool = False,
        prefill_chunk: int = 2048,
        kept_image_tokens: int = 65_536,
    ):
        arguments: dict[str, Any] = locals()
        self._options = {name: arguments[name] for name in _OPTIONS}
        least_one = min(max_rows, micro_batch_rows, prefill_chunk)
        least_zero = min(prefix_cache_tokens, draft_tokens, kept_image_tokens)
        if not clip_norm > 0 or least_one < 1 or least_zero < 0:
            raise InputError(
                "clip_norm must be above 0, max_rows, micro_batch_rows and prefill_chunk at least 1, "
                "prefix_cache_tokens, draft_tokens and kept_image_tokens at least 0"
            )
        if callable(keep := getattr(model, "keep_features", None)):
            keep(kept_image_tokens)
        self._reader = make_reader(
            model, packing=packing, pack_tokens=pack_tokens, gradient_checkpointing=gradient_checkpointing
        )
        self.version = 0
        self.model = model
        self.max_length = model.max_length
        self.pad_id = model.pad_id
        self.device = find_device(device)
        self.clip_norm, self.micro_batch_rows = clip_norm, micro_batch_rows
        self.max_rows = max_rows
        self.prefix_cache_tokens = prefix_cache_tokens
        self.draft_tokens, self.prefill_chunk = draft_tokens, prefill_chunk
        self._image_keys = ImageKeys()
        model.module.to(self.device)
        floating = next(p.dtype for p in model.module.parameters() if p.is_floating_point())
        self._dtype = torch.promote_types(floating, torch.float32)
        self._critic = value_head(model.hidden_size, self._dtype, self.device) if critic else None
        self.heads = dict(heads or {})
        self._heads = make_heads(self.heads, model.hidden_size, self._dtype, self.device)
        self._adapter = model if reference and isinstance(model, AdapterModel) else None
        self._reference = frozen_copy(model) if reference and self._adapter is None else None
        self._trained = {f"weights.{k}": p for k, p in model.module.named_parameters() if p.requires_grad}
        if self._critic is not None:
            self._trained |= {f"critic.{k}": p for k, p in self._critic.named_parameters()}
        self._trained |= head_parameters(self._heads)
        if not self._trained:
            raise InputError("no parameter of the model requires a gradient: there is nothing to train")
        self._optimized = optimized_parameters(self._trained)
        self._optimizer = adamw(self._optimized, weight_decay=weight_decay, betas=betas)

    # --- sampling --------------------------------------------------------------------------------------------------

    def sample(self, requests: Sequence[Sample]) -> list[Completion]:
        """Sample a completion per request, in order, in a new stream.

        Raises:
            InputError: a request cannot be sampled; the message names the request. No request is sampled.
            TrainingError: the model's logits are not finite.
        """
        # Requests admitted together share prefixes without a cache; the cache helps requests that wait for a slot.
        stream = self._stream(self.prefix_cache_tokens if len(requests) > self.max_rows else 0)
        try:
            tickets, done = [stream.submit(request) for request in requests], dict[int, Completion]()
            with eval_mode(self.model.module):
                while len(stream):
                    done.update(stream.poll())
        finally:
            stream.close()
        return [done[ticket] for ticket in tickets]

    def stream(self) -> SlotStream | RoundStream:
        """Open a stream: continuous batching with prefix caching (`engines.local.continuous_batching`), or static
        batching for a model without a slot cache (`engines.local.static_batching`)."""
        return self._stream(self.prefix_cache_tokens)

    def _stream(self, prefix_cache_tokens: int) -> SlotStream | RoundStream:
        cache = self.model.slots() if isinstance(self.model, CachedModel) else None
        if cache is None:
            return RoundStream(self.model, version=lambda: self.version, max_rows=self.max_rows)
        return SlotStream(
            self.model,
            cache,
            version=lambda: self.version,
            max_rows=self.max_rows,
            prefix_cache_tokens=prefix_cache_tokens,
            draft_tokens=self.draft_tokens,
            prefill_chunk=self.prefill_chunk,
            image_keys=self._image_keys,
        )

    # --- measuring -------------------------------------------------------------------------------------------------

    @torch.no_grad()
    def forward(
        self, batch: Batch, *, reference: bool = False, names: Sequence[str | HiddenMeasure] = ("logp",)
    ) -> dict[str, Tensor]:
        """Measure a batch without gradient.

        Args:
            batch: any number of rows; read `micro_batch_rows` at a time, similar rows together.
            reference: measure under the frozen reference model.
            names: any of "logp", "entropy", "collision" (see `ops.logprob`), "value" (needs a critic), and
                `core.protocols.HiddenMeasure` objects, returned under their names; "head/NAME" for a head.

        Returns:
            A [B, T] tensor for each name, [B, T, K] for a head of K outputs: values at trained tokens
            (`batch.mask_BT`), 0 elsewhere, as a loss sees them. Prompts get no logits. To measure every token, call
            `forward(replace(batch, mask_BT=batch.attend_BT))`; column 0 has no preceding token and stays 0.

        Raises:
            InputError: a name is unknown or needs a critic or reference that the engine lacks, or rows are longer than
                the model's context.
        """
        if reference and self._reference is None and self._adapter is None:
            raise InputError("this engine has no reference model; construct it with reference=True")
        check_measures(names, critic=self._critic is not None, reference=reference, heads=self._heads)
        out = zero_measures(names, batch, self.heads, self._dtype)
        order_B = self._reader.order(self.model, batch)
        with eval_mode(self.model.module):
            for index in order_B.split(self.micro_batch_rows) if len(batch) else ():
                part = batch.rows(index).map(lambda tensor: tensor.to(self.device))
                for name, value_BT in self._measure(part, names, reference).items():
                    out[name][index.cpu(), : value_BT.shape[1]] = value_BT.to("cpu", self._dtype)
        return {name: value_BT.to(batch.ids_BT.device) for name, value_BT in out.items()}

    def measure(self, requests: Sequence[Measure]) -> list[dict[str, list[float]]]:
        """Measure given ids under the current weights; see `core.requests.Measure`.

        Raises:
            InputError: ids exceed the context, a name is unknown, or the engine has no reference model.
        """
        return measure_requests(requests, self.forward, pad_id=self.pad_id, max_length=self.max_length)

    def _measure(self, batch: Batch, names: Sequence[str | HiddenMeasure], reference: bool) -> dict[str, Tensor]:
        switched = self._adapter.without_adapter() if reference and self._adapter is not None else nullcontext()
        model = self._reference if reference and self._reference is not None else self.model
        with switched:
            return self._reader.read(model, batch, batch.mask_BT).measure(names, self._critic, self._heads)

    # --- training --------------------------------------------------------------------------------------------------

    def forward_backward(self, batch: Batch, loss: Loss) -> LossOut:
        """Accumulate the gradient of the loss until the next `optim_step`.

        Returns:
            The detached loss and its metrics.

        Raises:
            TrainingError: the loss is not finite (the message names metrics and rows), does not depend on the model, or
                no token of the optimiser step trains. Weights stay unchanged; the accumulated gradient is dropped.
        """
        try:
            check_trainable(batch)
            return self._forward_backward(batch.map(lambda tensor: tensor.to(self.device)), loss)
        except TrainingError:
            self._drop_gradient()
            raise

    def _forward_backward(self, batch: Batch, loss: Loss) -> LossOut:
        with eval_mode(self.model.module):
            measures = self._reader.read(self.model, batch, batch.mask_BT)
            outputs = measures.measure(("logp",))
            if self._critic is not None:
                outputs["value"] = measures.value(self._critic)
            scores = {name: measures.head(head) for name, head in self._heads.items()}
            outputs |= {HEAD + name: score_BTK for name, score_BTK in scores.items()}

            def entropy() -> Tensor:
                outputs.update(measures.measure(("entropy",)))
                return outputs["entropy"]

            out, grads = loss_grad(
                loss,
                batch,
                logp_BT=outputs["logp"],
                entropy=entropy,
                value_BT=outputs.get("value"),
                heads=scores,
            )
            if grads:
                with gradients_to_masters(self._trained, self._optimized):
                    torch.autograd.backward([outputs[name] for name in grads], list(grads.values()))
        return out

    def optim_step(self, *, learning_rate: float, critic_rate: float | None = None) -> dict[str, float]:
        """Clip the gradient, step the optimiser, zero the gradient, increment the version.

        Args:
            learning_rate: >= 0.
            critic_rate: learning rate of the critic; None for `learning_rate`. With a `learning_rate` of 0 only the
                critic steps: the gradient of the policy is dropped before clipping.

        Returns:
            grad_norm (before clipping), grad_clipped (1 if grad_norm exceeded `clip_norm`, else 0), learning_rate.

        Raises:
            TrainingError: there is no gradient, or the gradient is not finite (the message names the parameters).
                Weights and optimiser stay unchanged; the accumulated gradient is dropped.
            InputError: a rate is negative or not finite, or there is no critic for `critic_rate`.
        """
        check_learning_rate(learning_rate, critic_rate, critic=self._critic is not None)
        if critic_rate is not None and learning_rate == 0:
            drop_policy_gradient(self._optimized)
        if not self._has_gradient():
            raise TrainingError("there is no gradient to step along; call forward_backward first")
        optimized = self._optimized.values()
        norm_tensor = gradient_norm(optimized)
        norm = norm_tensor.item()
        if not math.isfinite(norm):
            nonfinite = nonfinite_names((name, p.grad) for name, p in self._optimized.items() if p.grad is not None)
            self._drop_gradient()
            raise NonFiniteError(explain_gradient(nonfinite, norm) + UNTOUCHED)
        take_step(
            self._optimizer,
            optimized,
            norm=norm_tensor,
            clip_norm=self.clip_norm,
            learning_rate=learning_rate,
            critic_rate=critic_rate,
        )
        copy_to_model(self._trained, self._optimized)
        self.version += 1
        return {"grad_norm": norm, "grad_clipped": float(norm > self.clip_norm), "learning_rate": learning_rate}

    def twin(
        self,
        *,
        reference: bool = False,
        critic: bool = False,
        clip_norm: float = 1.0,
        heads: Mapping[str, Head] | None = None,
    ) -> LocalEngine:
        """Copy the engine with equal options: policy and reference start from the current policy, a critic from 0, and
        heads from their initialization. Untrained parameters are shared: engines with adapters have one base in memory.

        Raises:
            InputError: a reference is requested for an adapter model after optimiser steps: the reference of an adapter
                model is the base model, not the current policy.
        """
        if reference and self.version and isinstance(self.model, AdapterModel):
            raise InputError(
                "the reference of an adapter model is the model without its adapter: call twin before the first step"
            )
        options: dict[str, Any] = {"reference": reference, "critic": critic, "clip_norm": clip_norm, **self._options}
        return LocalEngine(copy_model(self.model), heads=heads, **options)
