"""Dispositions of selection: drop groups, mask rollouts or tokens, and record the selector's name.

    drop(group, by="drop_equal_groups")           the whole group leaves the step
    mask(group, keep_G, by="mask_overlong")       rollouts leave loss and denominators
    live(groups)                                  groups without a drop

Built-in selectors call these. A custom selector may leave groups out of its result and replace `trained` or
`Advantages.trains`: `apply_selector` compares its result with its input, and records the differences under its name.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Protocol, runtime_checkable

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Selector
from handaxe.core.records import Disposition, Group, RatedGroup

__all__ = ["Staged", "apply_selector", "as_rated_groups", "drop", "live", "mask", "part_name", "record_changes"]


@runtime_checkable
class Staged(Protocol):
    """Selector composed of other selectors, in order. It records the dispositions of its stages."""

    def stages(self) -> Sequence[Selector]:
        """Return the stages."""
        ...


def drop(group: RatedGroup, *, by: str) -> RatedGroup:
    """Drop a group: no rollout trains, and later selectors skip the group.

    Args:
        by: name of the selector, for the record.
    """
    dropped = replace(group, trained=np.zeros(len(group.group), bool), live=False)
    return dropped.decided(_one_each(group.group, Disposition("dropped", by)))


def mask(group: RatedGroup, keep: np.ndarray, *, by: str) -> RatedGroup:
    """Mask rollouts: masked rollouts count in statistics, but not in loss and denominators.

    Args:
        keep: [G] bool, False masks. Rollouts that do not train stay unchanged.
        by: name of the selector, for the record.

    Example:
        mask(group, ~overlong, by="mask_overlong")
    """
    masked = [one.id for one, out in zip(group.group, group.trained & ~keep, strict=True) if out]
    if not masked:
        return group
    return replace(group, trained=group.trained & keep).decided(dict.fromkeys(masked, Disposition("masked", by)))


def live(groups: Iterable[RatedGroup]) -> list[RatedGroup]:
    """Return the live groups, in order."""
    return [one for one in groups if one.live]


def apply_selector(select: Selector, rated: Sequence[RatedGroup]) -> list[RatedGroup]:
    """Call a selector on live groups, and record its omissions without a disposition under its name.

    Returns:
        The selector's groups in its order, then the omitted groups, dropped. Rollouts with fewer training tokens than
        before are masked.
    """
    found = as_rated_groups(select(rated), part_name(select))
    return found if isinstance(select, Staged) else record_changes(rated, found, by=part_name(select))


def as_rated_groups(found: Any, name: str) -> list[RatedGroup]:
    """Convert the result of a selector or transform to a list.

    Raises:
        InputError: the result is no iterable of rated groups; the message names the part.
    """
    groups = list(found) if isinstance(found, Iterable) else None
    if groups is None or not all(isinstance(one, RatedGroup) for one in groups):
        raise InputError(f"{name} returned {type(found).__name__} and no list of RatedGroup: return the groups")
    return groups


def part_name(part: Any) -> str:
    """Return the name of a part's factory, or of its class or function.

    Example:
        the result of mask_empty_turns() -> "mask_empty_turns"; a Recompose -> "Recompose"
    """
    while isinstance(part, partial):
        part = part.func
    return str(getattr(part, "__qualname__", type(part).__qualname__)).split(".")[0]


def record_changes(given: Sequence[RatedGroup], found: Sequence[RatedGroup], *, by: str) -> list[RatedGroup]:
    """Record changes between two lists of rated groups that have no disposition yet.

    Args:
        given: the groups before.
        found: the groups after.
        by: name of the part that made the changes.

    Returns:
        `found`, with dispositions of masked and removed rollouts; then the missing groups of `given`, dropped.
    """
    out, same = list(found), {id(one) for one in found}
    places, known = _places(out), {id(one.played.group) for one in given}
    for one in given:
        if id(one) in same:
            continue
        forms = dict.fromkeys(place for t in one.group for place in places.get(t.id, ()))
        if not forms:  # also found among them: a group that was dropped, or whose siblings were all replaced
            if not any(other.played.group is one.played.group for other in out):
                out.append(drop(one, by=by))
            continue
        first = next(iter(forms))
        if id(out[first].played.group) not in known:  # rebuilt from its parts: its history goes on
            out[first] = replace(out[first], scored=replace(out[first].scored, played=one.played))
        out[first] = _recorded(one, [out[place] for place in forms], by)
    return out


def _places(groups: Sequence[RatedGroup]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for place, one in enumerate(groups):
        for trajectory in one.group:
            found.setdefault(trajectory.id, []).append(place)
    return found


def _recorded(one: RatedGroup, forms: Sequence[RatedGroup], by: str) -> RatedGroup:
    """Return the first form of a group, with dispositions for changes that no form records."""
    before, decisions = _histories(one), dict[str, Disposition]()
    decided = {name for form in forms for name, own in _histories(form).items() if len(own) > len(before.get(name, ()))}
    there = {trajectory.id for form in forms for trajectory in form.group}
    for i, trajectory in enumerate(one.group):
        if trajectory.id in decided:
            continue
        if trajectory.id not in there:
            decisions[trajectory.id] = Disposition("dropped", by)
        elif sum(_tokens(form, trajectory.id) for form in forms) < _count(one, i):
            decisions[trajectory.id] = Disposition("masked", by)
    return forms[0].decided(decisions) if decisions else forms[0]


def _histories(one: RatedGroup) -> Mapping[str, tuple[Disposition, ...]]:
    return {t.id: own for t, own in zip(one.played.group, one.played.dispositions, strict=True)}


def _tokens(one: RatedGroup, name: str) -> int:
    return sum(_count(one, i) for i, trajectory in enumerate(one.group) if trajectory.id == name)


def _count(one: RatedGroup, index: int) -> int:
    """Number of training tokens of a sibling."""
    return sum(int(mask_T.sum()) for mask_T in one.training_mask(index))


def _one_each(group: Group, disposition: Disposition) -> dict[str, Disposition]:
    return {trajectory.id: disposition for trajectory in group}
