"""UniPic2 (arXiv:2509.04548): reinforcement for editing and for generation, one after the other."""

from typing import Literal

from handaxe import rewards
from handaxe.curricula.interleaved import interleaved
from handaxe.judges.drawing_model import drawing_model
from handaxe.methods.method import Method, replace
from handaxe.papers.unipic2.staged import staged

__all__ = ["unipic2"]

EDIT, MAKE = "change", "make"
"""Kinds of tasks of the world `canvas`."""


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
    parts = (EDIT, MAKE) if order == "edit_first" else (MAKE, EDIT)
    tasks = staged(key="kind", parts=parts, switch=switch)
    if order == "joint":
        tasks = interleaved(key="kind", weights={EDIT: 1, MAKE: 1}, around={})
    edits = rewards.judged(judge=drawing_model(world=base.world, labels=labels), squash="sigmoid")
    reward = rewards.dispatch(key="kind", rewards={EDIT: edits, MAKE: base.reward})
    return replace(base, reward=reward, tasks=tasks)
