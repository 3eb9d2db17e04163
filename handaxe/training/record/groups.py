"""Groups of a run record: the played group of a step, with scores and advantages if computed."""

import json
from typing import Literal

from handaxe.core.records import (
    Disposition,
    Dispositions,
    PlayedGroup,
    RatedGroup,
    ScoredGroup,
    Trajectory,
)

__all__ = [
    "Fate",
    "RecordedGroup",
    "dump_dispositions",
    "first_selector",
    "group_fate",
    "is_trained",
    "load_dispositions",
    "scored_siblings",
]

Fate = Literal["trained", "unselected", "surplus", "dropped", "unscored"]
"""Fate of a group: trained; unselected by a selector; surplus after a refill; dropped by on_ending; unscored."""

RecordedGroup = PlayedGroup | ScoredGroup | RatedGroup
"""`played` has all rollouts with their dispositions; `scores` and `advantages` are of the scored siblings, or None."""


def group_fate(one: RecordedGroup) -> Fate:
    """Summarise the dispositions of a group's rollouts.

    Example:
        a group with a scored sibling that was neither dropped nor surplus -> "trained"
    """
    if isinstance(one, PlayedGroup):
        gone = any(each.kind == "dropped" for own in one.dispositions for each in own)
        return "dropped" if gone else "unscored"
    scored = {trajectory.id for trajectory in one.group}
    pairs = zip(one.played.group, one.played.dispositions, strict=True)
    last = [own[-1].kind if own else "" for trajectory, own in pairs if trajectory.id in scored]
    if any(kind not in ("dropped", "surplus") for kind in last):
        return "trained"
    return "surplus" if "surplus" in last else "unselected"


def first_selector(dispositions: Dispositions) -> str:
    """Name the selector that first masked tokens of a rollout; "" without one."""
    by = next((one.by for one in dispositions if one.kind in ("masked", "dropped")), "")
    return "" if by == "on_ending" else by


def is_trained(one: RecordedGroup, index: int) -> bool:
    """Return True if rollout `index` of the played group enters the loss."""
    place = one.place(index)
    return isinstance(one, RatedGroup) and place is not None and bool(one.trained[place])


def scored_siblings(one: RecordedGroup) -> tuple[Trajectory, ...]:
    """Return the scored siblings of a group; () if it has no scores."""
    return () if isinstance(one, PlayedGroup) else one.group.trajectories


def dump_dispositions(dispositions: Dispositions) -> str:
    """Dispositions as JSON.

    Example:
        (Disposition("masked", "mask_overlong"),) -> '[["masked", "mask_overlong"]]'
    """
    return json.dumps([list(one) for one in dispositions])


def load_dispositions(text: str) -> Dispositions:
    """Dispositions from JSON."""
    return tuple(Disposition(*one) for one in json.loads(text))
