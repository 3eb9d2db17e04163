"""Check of a stage's arguments for `train`."""

import inspect
from collections.abc import Mapping
from typing import Any

from handaxe.core.errors import InputError
from handaxe.training.loop.train import train

__all__ = ["check_train_arguments"]

FIXED = {"engine", "format", "seed"}


def check_train_arguments(arguments: Mapping[str, Any]) -> None:
    """Raise InputError for a name that `train` lacks, or that the stage's context sets."""
    known = set(inspect.signature(train).parameters)
    if unknown := sorted(set(arguments) - known):
        raise InputError(f"train has no argument {', '.join(unknown)}; it has {', '.join(sorted(known - FIXED))}")
    if fixed := sorted(set(arguments) & FIXED):
        raise InputError(f"the context of a stage sets {', '.join(fixed)}; leave it out of the stage's arguments")
