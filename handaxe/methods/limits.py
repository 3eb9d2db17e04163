"""Which values a setting may have, told in the words of the command line."""

import math

from handaxe.core.errors import InputError
from handaxe.methods.method import RunSettings

__all__ = ["check_setting", "flag"]

LEAST = {
    "lora": 0,
    "steps": 0,
    "groups": 1,
    "group_size": 1,
    "learning_rate": 0,
    "max_turns": 1,
    "max_tokens": 1,
    "wait": 0,
    "wait_sigma": 0,
    "held_out": 1,
    "samples": 1,
    "eval_every": 0,
}
"""The least that a setting may be."""


def check_setting(setting: RunSettings) -> None:
    """Raise InputError for a setting out of its range, in the words of the command line."""
    for name, least in LEAST.items():
        value = getattr(setting, name)
        if not (math.isfinite(value) and value >= least):
            raise InputError(f"{flag(name)} is {value:g}; give {least} or more")


def flag(name: str) -> str:
    """An option as it is typed.

    Example:
        flag("group_size") -> "--group-size"
    """
    return f"--{name.replace('_', '-')}"
