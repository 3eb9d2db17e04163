"""Change for a while what single layers of a model do, without touching its class or its weights."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from torch import nn
from torch.utils.checkpoint import checkpoint

__all__ = ["overriding", "recomputing"]


@contextmanager
def overriding(layer: nn.Module, run: Callable[..., Any]) -> Iterator[None]:
    """Let `run(original, *args, **kwargs)` stand in for the layer's own forward while it lasts. Calling the layer still
    goes through its hooks, as what gathers a sharded layer's weights needs."""
    before = layer.__dict__.get("forward")
    layer.__dict__["forward"] = partial(run, layer.forward)
    try:
        yield
    finally:
        del layer.__dict__["forward"]
        if before is not None:
            layer.__dict__["forward"] = before


@contextmanager
def recomputing(layers: Iterable[nn.Module]) -> Iterator[None]:
    """Keep only the inputs of these layers for the gradient of what runs while it lasts; the rest is computed again.

    The layers run in the mode that they are in, unlike with transformers' own switch, which works in training mode
    alone. Dropout must be off: the second time would draw anew.
    """
    layers = list(layers)
    if not layers:
        yield
        return
    with overriding(layers[0], _checkpointed), recomputing(layers[1:]):
        yield


_checkpointed = partial(checkpoint, use_reentrant=False, preserve_rng_state=False)
