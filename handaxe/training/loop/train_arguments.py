"""What a stage may tell `train`, beside what follows from its site."""

import inspect
from collections.abc import Mapping
from typing import Any

from handaxe.core.errors import InputError
from handaxe.training.loop.train import train

__all__ = ["check_train_arguments"]

FIXED = {"engine", "format", "seed", "keep"}


def check_train_arguments(arguments: Mapping[str, Any]) -> None:
    """Raise InputError for a name that `train` does not know, or that the site decides."""
    known = set(inspect.signature(train).parameters)
    if wrong := sorted(set(arguments) - known):
        raise InputError(f"train has no argument {', '.join(wrong)}; it has {', '.join(sorted(known - FIXED))}")
    if fixed := sorted(set(arguments) & FIXED):
        raise InputError(f"a stage takes {', '.join(fixed)} from its site; leave it out of its arguments")
