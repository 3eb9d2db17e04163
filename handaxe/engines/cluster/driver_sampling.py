"""Sampling in the driver process, from weights gathered from the ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from handaxe.core.model_api import Model
from handaxe.core.requests import Completion, Partial, Sample
from handaxe.engines.cluster.meta_model import materialize
from handaxe.engines.local.continuous_batching import SlotStream
from handaxe.engines.local.engine import LocalEngine
from handaxe.engines.local.static_batching import RoundStream

__all__ = ["DriverSampler", "DriverStream"]

IterWeights = Callable[[bool], Iterator[tuple[str, Tensor]]]
"""Yields names and whole tensors of the model, with the untrained ones if the argument is True."""


class DriverSampler:
    """A full model in the driver process: created at the first sampling, updated when the version has changed.

    Args:
        meta: the model without weights.
        iter_weights: gathers the weights from the ranks.
        device: of the driver process.
        max_rows, prefix_cache_tokens, draft_tokens, prefill_chunk, kept_image_tokens: as in `LocalEngine`.
    """

    def __init__(
        self,
        meta: Model,
        iter_weights: IterWeights,
        *,
        device: str,
        max_rows: int,
        prefix_cache_tokens: int,
        draft_tokens: int,
        prefill_chunk: int,
        kept_image_tokens: int,
    ):
        self._meta, self._iter_weights = meta, iter_weights
        self._device = device
        self._options: dict[str, Any] = {
            "max_rows": max_rows,
            "prefix_cache_tokens": prefix_cache_tokens,
            "draft_tokens": draft_tokens,
            "prefill_chunk": prefill_chunk,
            "kept_image_tokens": kept_image_tokens,
        }
        self._engine: LocalEngine | None = None
        self._stale = False

    def invalidate(self) -> None:
        """Gather the weights again before the next sampling, even if the version is unchanged."""
        self._stale = True

    @torch.no_grad()
    def engine(self, version: int) -> LocalEngine:
        """Return the sampling engine with the current weights; always the same object."""
        if self._engine is None:
            self._engine = LocalEngine(
                materialize(self._meta, dict(self._iter_weights(True))), device=self._device, **self._options
            )
        elif self._stale or self._engine.version != version:
            module = self._engine.model.module
            tensors = {**dict(module.named_parameters()), **dict(module.named_buffers())}
            for name, tensor in self._iter_weights(False):
                tensors[name].copy_(tensor)
        self._engine.version, self._stale = version, False
        return self._engine


class DriverStream:
    """Stream in the driver process that updates weights before every poll; implements `core.protocols.Stream`."""

    def __init__(self, sampler: DriverSampler, version: Callable[[], int]):
        self._sampler, self._version = sampler, version
        self._stream: SlotStream | RoundStream = sampler.engine(version()).stream()

    def submit(self, request: Sample) -> int:
        """Add a request and return the ticket, counted from 0. Raises InputError for invalid requests."""
        return self._stream.submit(request)

    def poll(self, wait: float = 0.0) -> list[tuple[int, Completion]]:
        """Sample one or more tokens for every running request and return ended requests by ticket."""
        self._sampler.engine(self._version())
        return self._stream.poll(wait)

    def interrupt(self, ticket: int) -> Partial:
        """Remove a request and return the sampled part of the turn."""
        return self._stream.interrupt(ticket)

    def __len__(self) -> int:
        return len(self._stream)

    def close(self) -> None:
        """Drop every request and release the memory."""
        self._stream.close()
