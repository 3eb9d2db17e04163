"""Sampling in the driver's own process from weights that ranks hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from handaxe.core.model_api import Model
from handaxe.core.requests import Completion, Partial, Sample
from handaxe.engines.cluster.meta_model import with_weights
from handaxe.engines.local.engine import LocalEngine
from handaxe.engines.local.rounds import RoundStream
from handaxe.engines.local.stream import SlotStream

__all__ = ["DriverSampler", "FreshStream"]

Pieces = Callable[[bool], Iterator[tuple[str, Tensor]]]
"""Whether those that never train are wanted too -> names and whole tensors of the model."""


class DriverSampler:
    """A whole model in this process, made when something is first sampled, and brought up to date when the version has
    changed.

    Args:
        bare: the model without its weights.
        pieces: gathers them.
        device: of this process.
        max_rows, kept_tokens, draft_tokens: as of `LocalEngine`.
    """

    def __init__(self, bare: Model, pieces: Pieces, *, device: str, max_rows: int, kept_tokens: int, draft_tokens: int):
        self._bare, self._pieces = bare, pieces
        self._device = device
        self._options: dict[str, Any] = {"max_rows": max_rows, "kept_tokens": kept_tokens, "draft_tokens": draft_tokens}
        self._engine: LocalEngine | None = None
        self._stale = False

    def forget(self) -> None:
        """The weights were changed otherwise than by a step."""
        self._stale = True

    @torch.no_grad()
    def fresh(self, version: int) -> LocalEngine:
        """What samples, with the weights of this version; the same object each time."""
        if self._engine is None:
            self._engine = LocalEngine(
                with_weights(self._bare, dict(self._pieces(True))), device=self._device, **self._options
            )
        elif self._stale or self._engine.version != version:
            module = self._engine.model.module
            own = {**dict(module.named_parameters()), **dict(module.named_buffers())}
            for name, tensor in self._pieces(False):
                own[name].copy_(tensor)
        self._engine.version, self._stale = version, False
        return self._engine


class FreshStream:
    """A stream of this process that looks for new weights before it samples on; implements `slots.Stream`."""

    def __init__(self, sampler: DriverSampler, version: Callable[[], int]):
        self._sampler, self._version = sampler, version
        self._stream: SlotStream | RoundStream = sampler.fresh(version()).stream()

    def submit(self, request: Sample) -> int:
        """Add a request; its ticket, counted from 0. Raises InputError for one that cannot be sampled."""
        return self._stream.submit(request)

    def poll(self, wait: float = 0.0) -> list[tuple[int, Completion]]:
        """A token or more for every request that is in; those that ended, in order of ticket."""
        self._sampler.fresh(self._version())
        return self._stream.poll(wait)

    def interrupt(self, ticket: int) -> Partial:
        """Take a request out and hand over what is sampled of it so far."""
        return self._stream.interrupt(ticket)

    def __len__(self) -> int:
        return len(self._stream)

    def close(self) -> None:
        """Forget every request and release the memory."""
        self._stream.close()
