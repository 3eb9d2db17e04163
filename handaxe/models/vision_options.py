"""Options that decide which parameters behind the pixels of a vision-language model train."""

from __future__ import annotations

from typing import Literal

from handaxe.core.errors import InputError

__all__ = ["VisionTraining", "check_vision", "given_vision"]

VisionTraining = Literal["frozen", "trained"]


def check_vision(*, lora: bool, vision: str | None, lora_vision: bool) -> None:
    """Raise InputError for options that exclude each other.

    Args:
        lora: an adapter is trained.
        vision: "frozen", "trained", or None for the default of the model.
        lora_vision: the adapter is on vision tower and projector too.
    """
    if vision not in (None, "frozen", "trained"):
        raise InputError(f'unknown vision {vision!r}: use "frozen" or "trained"')
    if lora and vision == "trained":
        raise InputError('lora= trains an adapter alone: replace vision="trained" by lora_vision=True')
    if not lora and lora_vision:
        raise InputError('lora_vision=True needs an adapter: give lora=, or vision="trained" to train all weights')


def given_vision(vision: str | None, lora_vision: bool) -> str:
    """The given option, as an argument."""
    return "lora_vision=True" if lora_vision else f'vision="{vision}"'
