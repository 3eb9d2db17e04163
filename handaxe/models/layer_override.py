"""Temporary overrides of the forward method of single layers, without changes to classes or weights."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from torch import nn
from torch.utils.checkpoint import checkpoint

__all__ = ["checkpoint_layers", "override_layers"]


@contextmanager
def override_layers(layer: nn.Module, run: Callable[..., Any]) -> Iterator[None]:
    """Replace the forward of a layer by `run(original, *args, **kwargs)` inside the context.

    Calls of the layer still run the layer's hooks, which FSDP needs to gather sharded weights.
    """
    previous = layer.__dict__.get("forward")
    layer.__dict__["forward"] = partial(run, layer.forward)
    try:
        yield
    finally:
        del layer.__dict__["forward"]
        if previous is not None:
            layer.__dict__["forward"] = previous


@contextmanager
def checkpoint_layers(layers: Iterable[nn.Module]) -> Iterator[None]:
    """Apply gradient checkpointing to layers inside the context: store their inputs, recompute the activations.

    The layers keep their train or eval mode. (The switch in transformers works only in training mode.) Dropout must be
    off, because the recomputation would sample other masks.
    """
    layers = list(layers)
    if not layers:
        yield
        return
    with override_layers(layers[0], _checkpointed), checkpoint_layers(layers[1:]):
        yield


_checkpointed = partial(checkpoint, use_reentrant=False, preserve_rng_state=False)
