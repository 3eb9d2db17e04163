"""Selection of a step's training groups: selector, surplus, features of added rollouts, transform."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import AdvantageTransform, Engine, HiddenMeasure, Selector
from handaxe.core.records import Disposition, RatedGroup, TokenSequence, Trajectory
from handaxe.selection.parts.dispositions import apply_selector, as_rated_groups, live, part_name, record_changes
from handaxe.training.loop.rate import measured_trajectories, rewinder

__all__ = ["Selection", "annotate_added", "apply_transform", "live_played"]


class Selection:
    """Selector of one step.

    Args:
        select: the selector.
        most: maximum number of played groups that train; None for a step of one round, which has no surplus. With a
            maximum, the selector is called again after each round with more groups, each time from its initial state.
    """

    def __init__(self, select: Selector, most: int | None):
        self._select = select
        self._most = most
        self._rewind = (lambda: None) if most is None else rewinder(select)

    def __call__(self, rated: Sequence[RatedGroup]) -> list[RatedGroup]:
        """Select: the live groups in the selector's order, then the groups that it dropped."""
        self._rewind()
        found = apply_selector(self._select, rated)
        return [*live(found), *(one for one in found if not one.live)]

    def without_surplus(self, selected: Sequence[RatedGroup], played: Sequence[RatedGroup]) -> list[RatedGroup]:
        """Mark played groups beyond the maximum as surplus. Groups added by the selector stay."""
        if self._most is None:
            return list(selected)
        surplus = {id(one) for one in live_played(selected, played)[self._most :]}
        return [_surplus(one) if id(one) in surplus else one for one in selected]


def live_played(selected: Sequence[RatedGroup], played: Sequence[RatedGroup]) -> list[RatedGroup]:
    """Return the live groups that were played in this step, also with replaced siblings, without groups that a selector
    added.
    """
    fresh = {trajectory.id for one in played for trajectory in one.group}
    return [one for one in live(selected) if any(trajectory.id in fresh for trajectory in one.group)]


def _surplus(one: RatedGroup) -> RatedGroup:
    cut = replace(one, trained=np.zeros(len(one.group), bool), live=False)
    return cut.decided({trajectory.id: Disposition("surplus", "rounds") for trajectory in one.group})


def annotate_added(
    selected: Sequence[RatedGroup], played: Sequence[RatedGroup], engine: Engine, names: Sequence[str | HiddenMeasure]
) -> list[RatedGroup]:
    """Measure the features of every trajectory that a selector added.

    An old_logp of such a trajectory stays: it is the log-prob under its sampling policy.
    """
    fresh = {trajectory.id for one in played for trajectory in one.group}
    added = [trajectory for one in selected for trajectory in one.group if trajectory.id not in fresh]
    if not added or not names:
        return list(selected)
    pairs = zip(measured_trajectories(added, engine, names), added, strict=True)
    found = {one.id: _keeping_old_logp(one, old) for one, old in pairs}
    out = []
    for one in selected:
        siblings = tuple(found.get(trajectory.id, trajectory) for trajectory in one.group)
        changed = any(trajectory.id in found for trajectory in siblings)
        out.append(one.with_group(replace(one.group, trajectories=siblings)) if changed else one)
    return out


def _keeping_old_logp(trajectory: Trajectory, old: Trajectory) -> Trajectory:
    def kept(sequence: TokenSequence, before: TokenSequence) -> TokenSequence:
        own = {name: before.features[name] for name in ("old_logp",) if name in before.features}
        return replace(sequence, features={**sequence.features, **own})

    pairs = zip(trajectory.sequences, old.sequences, strict=True)
    return replace(trajectory, sequences=tuple(kept(now, before) for now, before in pairs))


def apply_transform(transform: AdvantageTransform | None, selected: Sequence[RatedGroup]) -> list[RatedGroup]:
    """Transform the advantages of the selected groups. Rollouts that lose training tokens are masked by its name.

    Raises:
        InputError: the transform returns other groups, or adds rollouts or tokens to training.
    """
    if transform is None or not selected:
        return list(selected)
    found = as_rated_groups(transform(selected), part_name(transform))
    if len(found) != len(selected) or any(not _same_choice(a, b) for a, b in zip(found, selected, strict=True)):
        raise InputError(
            f"transform returned other groups than the {len(selected)} selected ones, or trains other rollouts or "
            "tokens of them. A transform changes advantages and nothing else: use dataclasses.replace, and select in "
            "`select`"
        )
    return record_changes(selected, found, by=part_name(transform))


def _same_choice(found: RatedGroup, given: RatedGroup) -> bool:
    """True if a transform kept group, part and trained rollouts, and added no training token."""
    if found.group is not given.group or found.part != given.part or not np.array_equal(found.trained, given.trained):
        return False
    if found.advantages.trains is None:
        return given.advantages.trains is None
    masks = zip(found.advantages.trains, given.advantages.trains or _masks(given), strict=True)
    return all(
        x.dtype == bool and x.shape == y.shape and not np.any(x & ~y)
        for own, before in masks
        for x, y in zip(own, before, strict=True)
    )


def _masks(one: RatedGroup) -> tuple[tuple[np.ndarray, ...], ...]:
    return tuple(tuple(sequence.mask for sequence in trajectory.sequences) for trajectory in one.group)
