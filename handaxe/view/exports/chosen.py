"""A trajectory with all results of the training step, for exports."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from handaxe.core.records import RatedGroup, Trajectory
from handaxe.training.record.groups import Fate, RecordedGroup, first_selector, group_fate, is_trained
from handaxe.training.record.run_record import RunRecord
from handaxe.view.why import OutcomeClass, Reason, outcome_classes, staleness_bound, totals, why

__all__ = ["ChosenTrajectory", "choose", "chosen", "has_images"]

Arrays = tuple[np.ndarray, ...]


@dataclass(frozen=True, eq=False)
class ChosenTrajectory:
    """A trajectory with scores, advantages and use in the step.

    step, part          of the group;  fate, left_out_by    see `training.record.groups`;  age    see `PlayedGroup`
    scored, trained     True if scored by the reward, and True if tokens entered the loss
    outcome_class       see `view.why`;  no_gradient  reason for a missing gradient, None for a gradient
    outcome, total      reward without and with turn rewards; NaN for an unscored trajectory
    turns               [N] reward of each turn, or None;  turn_channels  named parts of turn rewards
    channels            named parts of the outcome;  eligible  see `Scores`
    advantages, returns, trains, pushed    per sequence [T], or None; see `Advantages` and `RatedGroup.moved`
    """

    trajectory: Trajectory
    step: int
    fate: Fate
    scored: bool
    trained: bool
    outcome_class: OutcomeClass
    outcome: float = float("nan")
    total: float = float("nan")
    part: int = 0
    no_gradient: Reason | None = None
    left_out_by: str = ""
    age: float = float("nan")
    turns: np.ndarray | None = None
    channels: Mapping[str, float] = field(default_factory=dict)
    turn_channels: Mapping[str, np.ndarray] = field(default_factory=dict)
    eligible: bool | None = None
    advantages: Arrays | None = None
    returns: Arrays | None = None
    trains: Arrays | None = None
    pushed: Arrays | None = None


def choose(record: RecordedGroup, index: int, staleness: int | None) -> ChosenTrajectory:
    """Make the export of a rollout of a group.

    Args:
        staleness: bound on the age of trained tokens; see `view.why.staleness_bound`.
    """
    place, played = record.place(index), record.played
    scored, k = place is not None, place or 0
    scores, advantages = (record.scores, record.advantages) if scored else (None, None)

    def own(ragged: tuple[Arrays, ...] | None) -> Arrays | None:
        return None if ragged is None else ragged[k]

    return ChosenTrajectory(
        trajectory=played.group[index],
        step=played.group.step,
        fate=group_fate(record),
        scored=scored,
        trained=is_trained(record, index),
        outcome_class=outcome_classes(record)[index],
        outcome=float("nan") if scores is None else float(scores.outcome[k]),
        total=float(totals(record)[k]) if scored else float("nan"),
        part=record.part if isinstance(record, RatedGroup) else 0,
        no_gradient=why(record, index, staleness).whole,
        left_out_by=first_selector(played.dispositions[index]),
        age=float("nan") if played.ages is None else float(played.ages[index]),
        turns=None if scores is None or scores.turns is None else scores.turns[k],
        channels={} if scores is None else {name: float(values[k]) for name, values in scores.channels.items()},
        turn_channels={} if scores is None else {name: values[k] for name, values in scores.turn_channels.items()},
        eligible=None if scores is None or scores.eligible is None else bool(scores.eligible[k]),
        advantages=None if advantages is None else own(advantages.tokens),
        returns=None if advantages is None else own(advantages.returns),
        trains=None if advantages is None else own(advantages.trains),
        pushed=record.moved[k] if isinstance(record, RatedGroup) and record.moved is not None and scored else None,
    )


def chosen(record: RunRecord, keys: Iterable[int]) -> Iterator[ChosenTrajectory]:
    """Read the trajectories of row numbers, in order, with a single group in memory.

    Args:
        record: of the run.
        keys: row numbers, see `view.record_search.FoundRow.key`; fast if rows of a group are consecutive.

    Raises:
        InputError: a row does not exist.
    """
    staleness = staleness_bound(record)
    held: tuple[int, dict[int, int], RecordedGroup] | None = None
    for key in keys:
        row = record.query("SELECT group_id FROM trajectories WHERE id = ?", key)
        if held is None or not row or row[0][0] != held[0]:
            group, _ = record.group_of(key)  # raises InputError for a missing row
            rows = record.query("SELECT id FROM trajectories WHERE group_id = ? ORDER BY id", row[0][0])
            held = (row[0][0], {int(one): place for place, (one,) in enumerate(rows)}, group)
        _, places, group = held
        yield choose(group, places[key], staleness)


def has_images(record: RunRecord, keys: Iterable[int]) -> bool:
    """True if a trajectory of these row numbers refers to an image."""
    if not record.columns("shown"):
        return False
    shown = {key for (key,) in record.query("SELECT DISTINCT trajectory FROM shown")}
    return not shown.isdisjoint(keys)
