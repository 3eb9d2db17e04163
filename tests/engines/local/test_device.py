"""Devices by name, and the reason of a missing one."""

import pytest
import torch

from handaxe.core.errors import InputError
from handaxe.engines.local.device import find_device


def test_cpu_is_found():
    assert find_device("cpu") == torch.device("cpu") == find_device(torch.device("cpu"))


def test_an_unknown_name_is_refused():
    with pytest.raises(InputError, match="device 'gpu' is unknown; give cpu, cuda or cuda:1"):
        find_device("gpu")


@pytest.mark.skipif(torch.version.cuda is not None, reason="a build with CUDA")
def test_a_build_without_cuda_is_named():
    with pytest.raises(InputError, match="device 'cuda:1' needs CUDA, and torch .* is a build without: give cpu"):
        find_device("cuda:1")


@pytest.mark.skipif(torch.cuda.is_available(), reason="a GPU is there")
def test_a_missing_gpu_is_named(monkeypatch):
    monkeypatch.setattr(torch.version, "cuda", "12.8")
    with pytest.raises(InputError, match="device 'cuda' needs a GPU, and torch finds none"):
        find_device("cuda")
