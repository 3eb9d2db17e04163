"""UniPic2 (arXiv:2509.04548): reinforcement for editing and for generation, one after the other."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Literal

from handaxe import rewards
from handaxe.curricula.interleaved import Order, interleaved
from handaxe.judges.drawing_model import drawing_model
from handaxe.methods.method import Method, replace
from handaxe.papers.unipic2.staged import staged

__all__ = ["unipic2"]

EDIT, MAKE = "change", "make"
"""Kinds of tasks of the world `canvas`."""
ORDERS: Mapping[str, Callable[[int], Order]] = MappingProxyType(
    {
        "edit_first": lambda switch: staged(key="kind", parts=(EDIT, MAKE), switch=switch),
        "make_first": lambda switch: staged(key="kind", parts=(MAKE, EDIT), switch=switch),
        "joint": lambda switch: interleaved(key="kind", weights={EDIT: 1, MAKE: 1}, around={}),
    }
)
"""Order of the stages -> (steps of the first stage) -> curriculum."""


def unipic2(
    base: Method,
    *,
    order: Literal["edit_first", "make_first", "joint"] = "edit_first",
    switch: int = 10,
    labels: int = 640,
) -> Method:
    """Train on edits rewarded by a judge of images, then on generation rewarded by rule.

    Channels: those of the reward of a task's kind.

    Args:
        order: of the stages; "joint" mixes both kinds in every step.
        switch: steps of the first stage.
        labels: requests with a pair each, on which the judge of edits is fitted.
    """
    edits = rewards.judged(judge=drawing_model(world=base.world, labels=labels), squash="sigmoid")
    reward = rewards.dispatch(key="kind", rewards={EDIT: edits, MAKE: base.reward})
    return replace(base, reward=reward, tasks=ORDERS[order](switch))
