"""From groups to rated groups: reward, features, credit. What a reward cannot decide is taken out, never scored."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from handaxe.core.endings import Treatment
from handaxe.core.errors import InputError
from handaxe.core.protocols import Credit, Engine, HiddenMeasure, Reward, Selector, Shape, Stateful
from handaxe.core.records import EndingKind, Group, Rated, Scores, TokenSequence, Trajectory
from handaxe.rewards.parts.scoring import score_group
from handaxe.training.loop.batch import Row, pad, temperature
from handaxe.training.loop.group_play import Tried

__all__ = [
    "FEATURES",
    "Scored",
    "annotate",
    "annotate_added",
    "check_features",
    "credit_all",
    "played_of",
    "reshape",
    "restarting",
    "reward_all",
    "rewinder",
    "without_surplus",
]

FEATURES: Mapping[str, tuple[str, bool]] = {
    "old_logp": ("logp", False),
    "ref_logp": ("logp", True),
    "value": ("value", False),
    "entropy": ("entropy", False),
    "collision": ("collision", False),
}
"""A feature's name -> what `engine.forward` calls it, and whether the reference model is asked."""

Scored = tuple[Tried, Scores]
"""A group, and the Scores of its scorable siblings."""


def reward_all(
    tried: Sequence[Tried], reward: Reward, *, treatment: Mapping[EndingKind, Treatment], retries: int
) -> list[Scored]:
    """Score what can be scored.

    A sibling that the reward cannot decide ends as verifier_error; reward and credit see the group without it. A
    reward that keeps state is put back to where it was before each attempt that failed.

    Returns:
        The groups of which something was scored, each with the Scores of its scorable siblings. The others are
        marked by their fate, dropped or unscored.
    """
    out = []
    for one in tried:
        scores = None if one.fate == "dropped" else _reward(one, reward, treatment["verifier_error"], retries)
        if one.fate == "dropped":
            one.scorable[:] = one.trains[:] = False
        elif scores is None:
            one.fate = "unscored"
        else:
            out.append((one, scores))
    return out


def _reward(one: Tried, reward: Reward, treatment: Treatment, retries: int) -> Scores | None:
    if not one.scorable.any():
        return None
    shown = _siblings(one.group, one.scorable)
    rewind = rewinder(reward)
    for _ in range(1 + (retries if treatment == "retry" else 0)):
        judged, scores = score_group(reward, shown)
        decided = np.array([trajectory.ending.kind != "verifier_error" for trajectory in judged], bool)
        if decided.all():
            return scores
        rewind()
    if isinstance(reward, Stateful) and decided.any():
        score_group(
            reward, _siblings(judged, decided)
        )  # once more, for its state: what failed must leave no trace there
    endings = {trajectory.id: trajectory.ending for trajectory in judged}
    siblings = tuple(replace(t, ending=endings.get(t.id, t.ending)) for t in one.group)
    one.group = replace(one.group, trajectories=siblings)
    one.scorable[np.flatnonzero(one.scorable)[~decided]] = False
    one.trains &= one.scorable
    if treatment == "drop_group":
        one.fate = "dropped"
    return _narrow(scores, decided) if decided.any() else None


def annotate(scored: Sequence[Scored], engine: Engine, names: Sequence[str | HiddenMeasure]) -> None:
    """Add features to every sequence that was scored, measured by the engine under the weights of now.

    Args:
        names: of FEATURES, or measures of hidden states; [T] arrays of these names are added to
            `TokenSequence.features`, measured at the tokens that the policy wrote and 0 elsewhere. A sequence of which
            it wrote nothing, which may be longer than the model reads, is all 0.
    """
    kept = [trajectory for one, _ in scored for trajectory in _siblings(one.group, one.scorable)]
    found = iter(_measured(kept, engine, names))
    for one, _ in scored:
        siblings = [next(found) if keep else t for t, keep in zip(one.group, one.scorable, strict=True)]
        one.group = replace(one.group, trajectories=tuple(siblings))


def annotate_added(
    selected: Sequence[Rated], played: Sequence[Rated], engine: Engine, names: Sequence[str | HiddenMeasure]
) -> list[Rated]:
    """What was selected, with the features of every attempt that a selector added measured by the engine as those of
    fresh ones are. An old_logp that such an attempt brings stays: it is of the policy that drew it, which that of now
    is not."""
    fresh = {trajectory.id for one in played for trajectory in one.group}
    added = [trajectory for one in selected for trajectory in one.group if trajectory.id not in fresh]
    if not added or not names:
        return list(selected)
    found = {one.id: _keeping_old_logp(one, old) for one, old in zip(_measured(added, engine, names), added)}
    out = []
    for one in selected:
        siblings = tuple(found.get(trajectory.id, trajectory) for trajectory in one.group)
        changed = any(trajectory.id in found for trajectory in siblings)
        out.append(replace(one, group=replace(one.group, trajectories=siblings)) if changed else one)
    return out


def played_of(selected: Sequence[Rated], played: Sequence[Rated]) -> list[Rated]:
    """Those of the selected groups that were played, though attempts in them may have been replaced; the others are
    what a selector added whole."""
    fresh = {trajectory.id for one in played for trajectory in one.group}
    return [one for one in selected if any(trajectory.id in fresh for trajectory in one.group)]


def without_surplus(selected: Sequence[Rated], played: Sequence[Rated], most: int) -> list[Rated]:
    """The first `most` of the selected groups that were played, and all that a selector added whole."""
    surplus = played_of(selected, played)[most:]
    return [one for one in selected if one not in surplus]


def _measured(
    trajectories: Sequence[Trajectory], engine: Engine, names: Sequence[str | HiddenMeasure]
) -> list[Trajectory]:
    """The trajectories with these features, measured under the weights of now."""
    out = list(trajectories)
    for reference in (False, True):
        own = [] if reference else [name for name in names if not isinstance(name, str)]
        known = [name for name in names if isinstance(name, str) and FEATURES[name][1] == reference]
        wanted = {name: FEATURES[name][0] for name in known} | {one.name: one.name for one in own}
        asked: list[str | HiddenMeasure] = [*sorted({FEATURES[name][0] for name in known}), *own]
        if not wanted:
            continue
        rows = [
            Row(sequence, np.zeros(len(sequence)), 0, 0, temperature(trajectory))
            for trajectory in out
            for sequence in trajectory.sequences
            if sequence.mask.any()
        ]
        found = dict[str, np.ndarray]()
        if rows:
            batch = pad(rows, pad_id=engine.pad_id)
            measured = engine.forward(batch, reference=reference, names=asked)
            found = {name: _array(measured[source]) for name, source in wanted.items()}
        features = iter(
            [{name: array[i, : len(row.sequence)] for name, array in found.items()} for i, row in enumerate(rows)]
        )
        out = [_with_features(trajectory, features, wanted) for trajectory in out]
    return out


def _keeping_old_logp(trajectory: Trajectory, old: Trajectory) -> Trajectory:
    def kept(sequence: TokenSequence, before: TokenSequence) -> TokenSequence:
        own = {name: before.features[name] for name in ("old_logp",) if name in before.features}
        return replace(sequence, features={**sequence.features, **own})

    pairs = zip(trajectory.sequences, old.sequences, strict=True)
    return replace(trajectory, sequences=tuple(kept(now, before) for now, before in pairs))


def check_features(names: Sequence[str | HiddenMeasure]) -> None:
    """Raise InputError for a feature that cannot be measured."""
    if unknown := sorted({name for name in names if isinstance(name, str)} - set(FEATURES)):
        raise InputError(f"annotate names {', '.join(unknown)}; an engine measures {', '.join(FEATURES)}")


def credit_all(scored: Sequence[Scored], credit: Credit) -> list[Rated]:
    """Rate each group: its scorable siblings, their scores, their advantages, and which of them may train."""
    for one, scores in scored:
        group = _siblings(one.group, one.scorable)
        one.rated = Rated(group, scores, credit(group, scores), one.trains[one.scorable])
    return [one.rated for one, _ in scored if one.rated is not None]


def reshape(shape: Shape | None, selected: Sequence[Rated]) -> list[Rated]:
    """What was selected, with the advantages that `shape` gives it; as it is without one, or where nothing is left.

    Raises:
        InputError: when other groups come back, or another choice of what trains.
    """
    if shape is None or not selected:
        return list(selected)
    shaped = list(shape(selected))
    if len(shaped) != len(selected) or any(_choice_differs(a, b) for a, b in zip(shaped, selected, strict=True)):
        raise InputError(
            f"shape turned {len(selected)} groups into other ones, or trains other attempts or tokens of them. A shape "
            "changes advantages and nothing else: use dataclasses.replace, and do what selects in `select`"
        )
    return shaped


def _choice_differs(a: Rated, b: Rated) -> bool:
    if a.group is not b.group or a.part != b.part or not np.array_equal(a.trained, b.trained):
        return True
    kept = [one.advantages.trains for one in (a, b)]
    if kept[0] is None or kept[1] is None:
        return kept[0] is not kept[1]
    return not all(
        np.array_equal(x, y) for u, v in zip(kept[0], kept[1], strict=True) for x, y in zip(u, v, strict=True)
    )


def restarting(select: Selector, *, of: object = None) -> Selector:
    """The selector, put back to the state of now before each call: asked again with more groups, it answers as if it
    were asked for the first time. `of` is what remembers for it, where that is another part."""
    rewind = rewinder(select if of is None else of)

    def again(rated: Sequence[Rated]) -> list[Rated]:
        rewind()
        return list(select(rated))

    return again


def rewinder(part: object) -> Callable[[], None]:
    """A function that puts a part back to the state it has now; does nothing for a part without state."""
    if not isinstance(part, Stateful):
        return lambda: None
    state = deepcopy(part.state_dict())
    return lambda: part.load_state_dict(deepcopy(state))


def _siblings(group: Group, chosen: np.ndarray) -> Group:
    return replace(group, trajectories=tuple(group[int(i)] for i in np.flatnonzero(chosen)))


def _narrow(scores: Scores, chosen: np.ndarray) -> Scores:
    """The scores of the chosen siblings alone."""
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
    """[B, T] in double where the engine is, else in single precision."""
    return tensor.to(torch.promote_types(tensor.dtype, torch.float32)).cpu().numpy()
