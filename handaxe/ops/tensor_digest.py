"""Digests of named tensors: equal if names, types, shapes and all bits of the values are equal."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

from handaxe.core.deferred import torch

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["describe_tensor", "tensor_digest"]


def tensor_digest(tensors: Mapping[str, Tensor], about: str = "") -> str:
    """Compute SHA-256 of a text and of the names, types, shapes and values of tensors, in hexadecimal digits."""
    sha = hashlib.sha256(f"{about} ".encode())
    for name, tensor in tensors.items():
        sha.update(f"{name} {describe_tensor(tensor)} ".encode())
        for part in _plain_parts(tensor.detach()):
            sha.update(part.cpu().contiguous().flatten().view(torch.uint8).numpy().data)
    return sha.hexdigest()


def _plain_parts(tensor: Tensor) -> list[Tensor]:
    """Return the stored tensors of a quantized tensor, and a plain tensor itself."""
    if type(tensor) in (torch.Tensor, torch.nn.Parameter) or not hasattr(tensor, "__tensor_flatten__"):
        return [tensor]
    names, _ = tensor.__tensor_flatten__()
    return [getattr(tensor, name) for name in names]


def describe_tensor(tensor: Tensor) -> str:
    """Describe type and shape, such as float32 [2, 3]."""
    return f"{str(tensor.dtype).removeprefix('torch.')} {list(tensor.shape)}"
