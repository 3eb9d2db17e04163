"""Seeds derived from the purpose of a draw, so that neither order nor number of workers changes a draw."""

from hashlib import blake2b

import numpy as np

__all__ = ["derive_seed", "generator"]


def derive_seed(*parts: str | int) -> int:
    """Derive a 63-bit seed from (run, step, task, sample, turn) or any other path of strings and integers.

    Example:
        derive_seed(0, 3, "sum-17", 2) is the same number on every machine, and unlike derive_seed(0, 32, ...).
    """
    path = "\x1f".join([f"{type(part).__name__}:{part}" for part in parts])
    return int.from_bytes(blake2b(path.encode(), digest_size=8).digest(), "big") >> 1


def generator(*parts: str | int) -> np.random.Generator:
    """Make a numpy generator seeded by `derive_seed`; it is counter-based, so independent of all others."""
    return np.random.Generator(np.random.Philox(key=derive_seed(*parts)))
