"""Context with unchanged global random states."""

import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from handaxe.core.deferred import torch

__all__ = ["kept_random_state"]


@contextmanager
def kept_random_state() -> Iterator[None]:
    """Restore the global random states of Python, numpy and torch on exit."""
    python, numbers = random.getstate(), np.random.get_state()
    with torch.random.fork_rng():
        try:
            yield
        finally:
            random.setstate(python)
            np.random.set_state(numbers)
