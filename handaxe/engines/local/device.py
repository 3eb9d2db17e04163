"""Finds a torch device by name, with an error that names the reason of a missing one."""

import torch

from handaxe.core.errors import InputError

__all__ = ["find_device"]


def find_device(name: str | torch.device) -> torch.device:
    """Return a device that holds tensors.

    Raises:
        InputError: the name is no device, or torch cannot use it: a build without CUDA, no GPU, no such index.

    Example:
        find_device("cpu") -> torch.device("cpu")
    """
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise InputError(f"device {str(name)!r} is unknown; give cpu, cuda or cuda:1") from error
    if device.type == "cuda" and torch.version.cuda is None and torch.version.hip is None:
        raise InputError(f"device {str(name)!r} needs CUDA, and torch {torch.__version__} is a build without: give cpu")
    if device.type == "cuda" and not torch.cuda.is_available():
        raise InputError(f"device {str(name)!r} needs a GPU, and torch finds none: give cpu, or check nvidia-smi")
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).partition("\n")[0]
        raise InputError(f"device {str(name)!r} cannot be used: {reason}") from error
    return device
