"""Names of version 0.1 and their names now, for run folders and results that an older version wrote."""

import shlex
from collections.abc import Mapping
from typing import Any

__all__ = ["METHODS", "SETTINGS", "WORLDS", "renamed_arguments", "renamed_command"]

METHODS: Mapping[str, str] = {
    "frozen": "no_training",
    "plain": "grpo_no_kl",
    "revisiting": "small_task_set",
    "taught": "sft",
}
WORLDS: Mapping[str, str] = {}
SETTINGS: Mapping[str, str] = {"others": "aux_policies", "shuffled": "permute_rewards"}


def renamed_arguments(saved: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of a run in the names of this version.

    Example:
        {"base": "plain", "others": []} -> {"base": "grpo_no_kl", "aux_policies": []}
    """
    found = {SETTINGS.get(name, name): value for name, value in saved.items()}
    for part, names in (("recipe", METHODS), ("method", METHODS), ("base", METHODS), ("world", WORLDS)):
        if part in found:
            found[part] = names.get(found[part], found[part])
    return found


def renamed_command(words: str) -> str:
    """A method and its options, as a claim's baseline names them, in the names of this version.

    Example:
        "frozen --model smollm2" -> "no_training --model smollm2"
    """
    parts = shlex.split(words)
    for place, word in enumerate(parts):
        if place == 0 or parts[place - 1] == "--base":
            parts[place] = METHODS.get(word, word)
        elif parts[place - 1] == "--world":
            parts[place] = WORLDS.get(word, word)
    return shlex.join(parts)
