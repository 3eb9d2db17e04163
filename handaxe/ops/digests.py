"""Digests of tensors: equal where names, types, shapes and every bit of the values are."""

import hashlib
from collections.abc import Mapping

import torch
from torch import Tensor

__all__ = ["describe_tensor", "tensors_digest"]


def tensors_digest(tensors: Mapping[str, Tensor], about: str = "") -> str:
    """SHA-256 over a text, and over names, types, shapes and values of tensors, in hexadecimal digits."""
    made = hashlib.sha256(f"{about} ".encode())
    for name, tensor in tensors.items():
        made.update(f"{name} {describe_tensor(tensor)} ".encode())
        made.update(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().data)
    return made.hexdigest()


def describe_tensor(tensor: Tensor) -> str:
    """Type and shape, such as float32 [2, 3]."""
    return f"{str(tensor.dtype).removeprefix('torch.')} {list(tensor.shape)}"
