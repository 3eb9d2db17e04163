"""Models without weights, on torch's meta device, for processes that hold no weights of the model."""

from __future__ import annotations

import copy
from collections.abc import Mapping

import torch
from torch import Tensor, nn

from handaxe.core.model_api import Model

__all__ = ["materialize", "meta_model", "replace_parameters"]


def meta_model(model: Model) -> Model:
    """A copy of the model with parameters on torch's device "meta", which take no memory; buffers are copied."""
    memo = {
        id(p): nn.Parameter(torch.empty_like(p, device="meta"), requires_grad=p.requires_grad)
        for p in model.module.parameters()
    }
    return copy.deepcopy(model, memo)


def materialize(model: Model, tensors: Mapping[str, Tensor]) -> Model:
    """A copy of a meta model with the given tensors as parameters; tensors are not copied.

    Args:
        tensors: by the names of `module.named_parameters()` and `module.named_buffers()`; missing buffers are copied
            from the meta model.
    """
    model = copy.deepcopy(model)
    parameters = {id(p): nn.Parameter(tensors[k], p.requires_grad) for k, p in model.module.named_parameters()}
    replace_parameters(model.module, parameters)
    for name, buffer in model.module.named_buffers():
        if name in tensors:
            buffer.copy_(tensors[name])
    return model


def replace_parameters(module: nn.Module, replacements: Mapping[int, nn.Parameter]) -> None:
    """Replace parameters by `id`; parameters shared by several modules stay shared."""
    for part in module.modules():
        for name, parameter in part._parameters.items():
            if parameter is not None and id(parameter) in replacements:
                part._parameters[name] = replacements[id(parameter)]
