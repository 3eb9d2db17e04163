"""Final groups of a step, with all dispositions, for the record and the metrics."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from handaxe.core.records import Advantages, Disposition, Dispositions, PlayedGroup, RatedGroup

__all__ = ["step_record"]

Place = tuple[RatedGroup, int]
"""Group of the batch, and index of a sibling in it."""
Masks = tuple[np.ndarray, ...]


def step_record(
    handled: Sequence[RatedGroup | PlayedGroup],
    final: Sequence[RatedGroup],
    moved: Mapping[str, Masks] | None = None,
) -> list[RatedGroup | PlayedGroup]:
    """Return the groups of a step in their final form: advantages as seen by the loss, and all dispositions.

    Args:
        handled: the step's groups in launch order.
        final: the live groups that trained, and the dropped ones. A rollout may occur in several of them: its
            advantages add up.
        moved: per trained rollout and sequence [T] bool, tokens that the loss moved; see `update`. None: not measured.
    """
    places: dict[str, list[Place]] = {}
    for one in final:
        for i, trajectory in enumerate(one.group):
            if one.live:
                places.setdefault(trajectory.id, []).append((one, i))
    return [
        one if isinstance(one, PlayedGroup) else _joined(one, final, places, {} if moved is None else moved)
        for one in handled
    ]


def _joined(
    one: RatedGroup, final: Sequence[RatedGroup], places: Mapping[str, list[Place]], moved: Mapping[str, Masks]
) -> RatedGroup:
    every = [places.get(trajectory.id, [(one, i)]) for i, trajectory in enumerate(one.group)]
    latest = [own[-1] for own in every]
    trained = [any(bool(r.trained[i]) for r, i in places.get(t.id, ())) for t in one.group]
    histories = _histories(one.played, final)
    entered = {t.id for t, chosen in zip(one.group, trained, strict=True) if chosen and t.id in moved}
    played = replace(one.played, dispositions=histories).decided(dict.fromkeys(entered, Disposition("trained")))
    masked = any(r.advantages.trains is not None for r, _ in latest)
    return RatedGroup(
        replace(one.scored, played=played),
        Advantages(
            tokens=tuple(_summed(own) for own in every),
            returns=_returns(latest),
            trains=tuple(_trains(r, i) for r, i in latest) if masked else None,
        ),
        np.array(trained, bool),
        part=latest[0][0].part if latest else 0,
        live=any(trajectory.id in places for trajectory in one.group),
        moved=tuple(moved.get(trajectory.id) for trajectory in one.group) if moved else None,
    )


def _histories(played: PlayedGroup, final: Sequence[RatedGroup]) -> tuple[Dispositions, ...]:
    """Longest history of each rollout among the forms of its group."""
    forms = [one.played.dispositions for one in final if one.played.group is played.group]
    return tuple(max(own, key=len) for own in zip(played.dispositions, *forms, strict=True))


def _summed(places: Sequence[Place]) -> Masks:
    """Sum of the advantages [T] of all places where a rollout trains; the last place's if it trains nowhere."""
    rows = [rated.advantages.tokens[i] for rated, i in places if rated.trained[i]]
    if not rows:
        rated, i = places[-1]
        return rated.advantages.tokens[i]
    return tuple(sum(arrays[1:], arrays[0]) for arrays in zip(*rows))


def _returns(places: Sequence[Place]) -> tuple[Masks, ...] | None:
    found = [None if rated.advantages.returns is None else rated.advantages.returns[i] for rated, i in places]
    return None if any(one is None for one in found) else tuple(one for one in found if one is not None)


def _trains(rated: RatedGroup, i: int) -> Masks:
    trains = rated.advantages.trains
    return tuple(sequence.mask for sequence in rated.group[i].sequences) if trains is None else trains[i]
