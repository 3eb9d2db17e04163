"""Digests of named tensors: equal if names, types, shapes and all bits of the values are equal."""

import hashlib
from collections.abc import Mapping

import torch
from torch import Tensor

__all__ = ["describe_tensor", "tensor_digest"]


def tensor_digest(tensors: Mapping[str, Tensor], about: str = "") -> str:
    """Compute SHA-256 of a text and of the names, types, shapes and values of tensors, in hexadecimal digits."""
    sha = hashlib.sha256(f"{about} ".encode())
    for name, tensor in tensors.items():
        sha.update(f"{name} {describe_tensor(tensor)} ".encode())
        sha.update(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().data)
    return sha.hexdigest()


def describe_tensor(tensor: Tensor) -> str:
    """Describe type and shape, such as float32 [2, 3]."""
    return f"{str(tensor.dtype).removeprefix('torch.')} {list(tensor.shape)}"
