"""Range checks of run settings, with errors that name command-line flags."""

import math
import os

from handaxe.core.errors import InputError
from handaxe.methods.flags import flag
from handaxe.methods.method import RunSettings
from handaxe.methods.run_stop import check_stop

__all__ = ["check_settings"]

LEAST = {
    "lora": 0,
    "steps": 0,
    "groups": 1,
    "group_size": 1,
    "learning_rate": 0,
    "max_turns": 1,
    "max_tokens": 1,
    "max_images": 0,
    "max_pixels": 0,
    "wait": 0,
    "wait_sigma": 0,
    "held_out": 1,
    "samples": 1,
    "eval_every": 0,
    "warmup": 0,
    "patience": 0,
    "judge_flip": 0,
    "judge_labels": 1,
    "judge_budget": 0,
    "judge_min_coverage": 0,
}
"""Minimum of each setting."""


def check_settings(settings: RunSettings) -> None:
    """Raise InputError if a setting is below the minimum or not finite."""
    for name, least in LEAST.items():
        value = getattr(settings, name)
        if not (math.isfinite(value) and value >= least):
            raise InputError(f"{flag(name)} is {value:g}; give {least} or more")
    if settings.schedule != "constant" and settings.warmup >= settings.steps > 0:
        raise InputError(f"--warmup {settings.warmup} leaves no step for the decay: --steps is {settings.steps}")
    if settings.quantize != "none" and not settings.lora and not os.path.isdir(settings.model):
        raise InputError(f"--quantize {settings.quantize} needs --lora RANK, since quantized weights do not train")
    if settings.lora_vision and not settings.lora:
        raise InputError("--lora-vision needs --lora RANK; --vision trained trains vision tower and projector in full")
    if settings.vision == "trained" and settings.lora:
        raise InputError("--lora trains an adapter alone: replace --vision trained by --lora-vision")
    check_stop(settings)
