"""Models without weights: what one process needs to know of a model whose weights another one holds."""

from __future__ import annotations

import copy
from collections.abc import Mapping

import torch
from torch import Tensor, nn

from handaxe.core.model_api import Model

__all__ = ["meta_model", "replace_parameters", "with_weights"]


def meta_model(model: Model) -> Model:
    """A copy of the model whose parameters take no memory (they are on torch's device "meta"); buffers are copied."""
    memo = {
        id(p): nn.Parameter(torch.empty_like(p, device="meta"), requires_grad=p.requires_grad)
        for p in model.module.parameters()
    }
    return copy.deepcopy(model, memo)


def with_weights(model: Model, tensors: Mapping[str, Tensor]) -> Model:
    """A copy of a hollow model that has these tensors, and no copies of them.

    Args:
        tensors: by the names of `module.named_parameters()` and `module.named_buffers()`; a buffer that is missing is
            copied from the hollow model.
    """
    model = copy.deepcopy(model)
    found = {id(p): nn.Parameter(tensors[k], p.requires_grad) for k, p in model.module.named_parameters()}
    replace_parameters(model.module, found)
    for name, buffer in model.module.named_buffers():
        if name in tensors:
            buffer.copy_(tensors[name])
    return model


def replace_parameters(module: nn.Module, found: Mapping[int, nn.Parameter]) -> None:
    """Put other parameters in the place of those whose `id` is a key; one that stands in two places still does."""
    for part in module.modules():
        for name, parameter in part._parameters.items():
            if parameter is not None and id(parameter) in found:
                part._parameters[name] = found[id(parameter)]
