"""Policies from which judges start, by name.

Example:
    BACKBONES["start"](canvas()) -> the policy after the world's cold start

Idea: a judge that starts from the policy's cold start knows the drawings and words of the world.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from handaxe.training.sft.cold_start import start_policy
from handaxe.worlds.world import World

if TYPE_CHECKING:
    from handaxe.models.load import Policy

__all__ = ["BACKBONES", "Backbone"]

Backbone = Literal["start", "tiny_vision"]
BACKBONES: Mapping[Backbone, Callable[[World], Policy | None]] = MappingProxyType(
    {"start": start_policy, "tiny_vision": lambda world: None}
)
"""Name -> (world) -> policy; None is the packaged `tiny_vision`."""
