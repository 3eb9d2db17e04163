"""Scoring and rating of played groups: reward, features, credit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np

from handaxe.core.deferred import torch
from handaxe.core.endings import Treatment
from handaxe.core.errors import InputError
from handaxe.core.protocols import Credit, Engine, HiddenMeasure, Reward, Stateful
from handaxe.core.records import (
    Disposition,
    EndingKind,
    PlayedGroup,
    RatedGroup,
    ScoredGroup,
    Scores,
    TokenSequence,
    Trajectory,
)
from handaxe.rewards.parts.scoring import score_group
from handaxe.training.loop.batch import Row, pad, temperature
from handaxe.training.loop.group_play import ON_ENDING

__all__ = [
    "FEATURES",
    "annotate",
    "check_features",
    "measured_trajectories",
    "rate_group",
    "rewinder",
    "score_played",
]

FEATURES: Mapping[str, tuple[str, bool]] = {
    "old_logp": ("logp", False),
    "ref_logp": ("logp", True),
    "value": ("value", False),
    "entropy": ("entropy", False),
    "collision": ("collision", False),
}
"""Feature -> its name in `engine.forward`, and True for the reference model."""


def score_played(
    played: PlayedGroup, reward: Reward, *, treatment: Mapping[EndingKind, Treatment], retries: int
) -> ScoredGroup | PlayedGroup:
    """Score the scorable rollouts of a group.

    A rollout with an undecided reward ends as verifier_error; reward and credit see the group without it. A stateful
    reward is restored to its state before each failed call.

    Returns:
        The group with the scores of its scorable rollouts; the played group if none has a score. Dispositions name the
        reason of each rollout without a score.
    """
    scorable = played.scorable
    if not scorable.any():
        return played
    shown, verdict = played.siblings(scorable), treatment["verifier_error"]
    rewind = rewinder(reward)
    for _ in range(1 + (retries if verdict == "retry" else 0)):
        judged, scores = score_group(reward, shown)
        decided = np.array([trajectory.ending.kind != "verifier_error" for trajectory in judged], bool)
        if decided.all():
            return _scored(ScoredGroup(played, shown, scores))
        rewind()
    if isinstance(reward, Stateful) and decided.any():
        # Called again for its state, in which failed calls must leave no trace.
        score_group(reward, replace(judged, trajectories=tuple(t for t, ok in zip(judged, decided) if ok)))
    failed = {trajectory.id: trajectory for trajectory, ok in zip(judged, decided, strict=True) if not ok}
    siblings = tuple(failed.get(trajectory.id, trajectory) for trajectory in played.group)
    played = replace(played, group=replace(played.group, trajectories=siblings))
    played = played.decided(dict.fromkeys(failed, Disposition("unscored", "verifier_error")))
    if verdict == "drop_group":
        dropped = Disposition("dropped", ON_ENDING)
        return played.decided({trajectory.id: dropped for trajectory in played.group})
    if not decided.any():
        return played
    return _scored(ScoredGroup(played, played.siblings(played.scorable), _narrow(scores, decided)))


def _scored(group: ScoredGroup) -> ScoredGroup:
    """Add a disposition to each rollout with a NaN reward."""
    unknown = [t.id for t, outcome in zip(group.group, group.scores.outcome, strict=True) if np.isnan(outcome)]
    if not unknown:
        return group
    return replace(group, played=group.played.decided(dict.fromkeys(unknown, Disposition("unscored", "reward"))))


def annotate(scored: ScoredGroup, engine: Engine, names: Sequence[str | HiddenMeasure]) -> ScoredGroup:
    """Add features to every scored sequence, measured by the engine under the current weights.

    Args:
        names: of FEATURES, or measures of hidden states. Their [T] arrays join `TokenSequence.features`, measured at
            tokens of the mask and 0 elsewhere. A sequence without such tokens, which may exceed the model's context, is
            all 0.
    """
    if not names:
        return scored
    siblings = tuple(measured_trajectories(scored.group.trajectories, engine, names))
    found = {trajectory.id: trajectory for trajectory in siblings}
    everything = tuple(found.get(trajectory.id, trajectory) for trajectory in scored.played.group)
    played = replace(scored.played, group=replace(scored.played.group, trajectories=everything))
    return replace(scored, played=played, group=replace(scored.group, trajectories=siblings))


def rate_group(scored: ScoredGroup, credit: Credit) -> RatedGroup:
    """Rate a group. Siblings train unless a disposition masks them."""
    pairs = zip(scored.played.group, scored.played.dispositions, strict=True)
    masked = {trajectory.id for trajectory, own in pairs if any(one.kind == "masked" for one in own)}
    trained = np.array([trajectory.id not in masked for trajectory in scored.group], bool)
    return RatedGroup(scored, credit(scored.group, scored.scores), trained)


def check_features(names: Sequence[str | HiddenMeasure]) -> None:
    """Raise InputError for a feature that cannot be measured."""
    if unknown := sorted({name for name in names if isinstance(name, str)} - set(FEATURES)):
        raise InputError(f"annotate names {', '.join(unknown)}; an engine measures {', '.join(FEATURES)}")


def measured_trajectories(
    trajectories: Sequence[Trajectory], engine: Engine, names: Sequence[str | HiddenMeasure]
) -> list[Trajectory]:
    """Measure features under the current weights, and return the trajectories with these features."""
    out = list(trajectories)
    for reference in (False, True):
        own = [] if reference else [name for name in names if not isinstance(name, str)]
        known = [name for name in names if isinstance(name, str) and FEATURES[name][1] == reference]
        wanted = {name: FEATURES[name][0] for name in known} | {one.name: one.name for one in own}
        measures: list[str | HiddenMeasure] = [*sorted({FEATURES[name][0] for name in known}), *own]
        if not wanted:
            continue
        rows = [
            Row(sequence, np.zeros(len(sequence)), 0, 0, temperature(trajectory), images=trajectory.images)
            for trajectory in out
            for sequence in trajectory.sequences
            if sequence.mask.any()
        ]
        found = dict[str, np.ndarray]()
        if rows:
            batch = pad(rows, pad_id=engine.pad_id)
            measured = engine.forward(batch, reference=reference, names=measures)
            found = {name: _array(measured[source]) for name, source in wanted.items()}
        features = iter(
            [{name: array[i, : len(row.sequence)] for name, array in found.items()} for i, row in enumerate(rows)]
        )
        out = [_with_features(trajectory, features, wanted) for trajectory in out]
    return out


def rewinder(part: object) -> Callable[[], None]:
    """Return a function that restores the current state of a part; it does nothing for a part without state."""
    if not isinstance(part, Stateful):
        return lambda: None
    state = deepcopy(part.state_dict())
    return lambda: part.load_state_dict(deepcopy(state))


def _narrow(scores: Scores, chosen: np.ndarray) -> Scores:
    """Scores of the chosen siblings."""
    index = np.flatnonzero(chosen)

    def ragged(values: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
        return tuple(values[i] for i in index)

    return Scores(
        outcome=scores.outcome[index],
        turns=None if scores.turns is None else ragged(scores.turns),
        channels={name: values[index] for name, values in scores.channels.items()},
        turn_channels={name: ragged(values) for name, values in scores.turn_channels.items()},
        eligible=None if scores.eligible is None else scores.eligible[index],
    )


def _with_features(trajectory: Trajectory, features: Any, names: Iterable[str]) -> Trajectory:
    def extended(sequence: TokenSequence) -> TokenSequence:
        found = next(features) if sequence.mask.any() else {name: np.zeros(len(sequence)) for name in names}
        return replace(sequence, features={**sequence.features, **found})

    return replace(trajectory, sequences=tuple(extended(sequence) for sequence in trajectory.sequences))


def _array(tensor: torch.Tensor) -> np.ndarray:
    """[B, T] in the engine's double precision, else in single precision."""
    return tensor.to(torch.promote_types(tensor.dtype, torch.float32)).cpu().numpy()
