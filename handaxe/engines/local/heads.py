"""Heads of an engine as torch modules: construction, initialization, and names of parameters in a checkpoint.

Legend: D width of the model, K outputs.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING

from handaxe.core.deferred import torch
from handaxe.core.errors import InputError
from handaxe.core.heads import Head

if TYPE_CHECKING:
    from torch import Tensor, nn

__all__ = ["EngineHead", "check_head_names", "head_parameters", "make_heads"]

PREFIX = "heads."


class EngineHead:
    """A head with its network: hidden states [N, D] to scores [N, K]."""

    def __init__(self, spec: Head, width: int, dtype: torch.dtype, device: torch.device):
        self.spec = spec
        widths = (width, *spec.hidden, spec.outputs)
        self.layers = [
            torch.nn.utils.skip_init(torch.nn.Linear, left, right, dtype=dtype, device=device)
            for left, right in pairwise(widths)
        ]
        self.reset()

    def __call__(self, hidden_ND: Tensor) -> Tensor:
        """[N, K] scores; the gradient reaches the hidden states unless the trunk is frozen."""
        found_ND = hidden_ND.detach() if self.spec.trunk == "frozen" else hidden_ND
        found_ND = found_ND.to(self.layers[0].weight.dtype)
        for layer in self.layers[:-1]:
            found_ND = torch.nn.functional.silu(layer(found_ND))
        return self.layers[-1](found_ND)

    def reset(self) -> None:
        """Initialize: weights by `Head.init` and seed, biases at 0. Hidden layers are never 0."""
        generator = torch.Generator().manual_seed(self.spec.seed)
        with torch.no_grad():
            for layer in self.layers:
                layer.bias.zero_()
                if layer is self.layers[-1] and self.spec.init == "zeros":
                    layer.weight.zero_()
                    continue
                drawn = torch.randn(layer.weight.shape, generator=generator, dtype=torch.float64)
                layer.weight.copy_(drawn / drawn.shape[1] ** 0.5)


def check_head_names(heads: Mapping[str, Head]) -> None:
    """Raise InputError for a name with a dot or a slash, which would be ambiguous in a checkpoint."""
    for name in heads:
        if not name or "." in name or "/" in name:
            raise InputError(f"a head is named {name!r}; use letters, digits and _")


def make_heads(
    heads: Mapping[str, Head], width: int, dtype: torch.dtype, device: torch.device
) -> dict[str, EngineHead]:
    """Heads by name. Raises InputError as `check_head_names`."""
    check_head_names(heads)
    return {name: EngineHead(spec, width, dtype, device) for name, spec in heads.items()}


def head_parameters(heads: Mapping[str, EngineHead]) -> dict[str, nn.Parameter]:
    """Trained parameters by their names in a checkpoint."""
    return {
        f"{PREFIX}{name}.{key}": parameter
        for name, head in heads.items()
        for key, parameter in torch.nn.ModuleList(head.layers).named_parameters()
    }
