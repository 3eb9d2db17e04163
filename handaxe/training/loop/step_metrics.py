"""What a step is measured by, computed from its groups alone."""

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from typing import TypeVar, get_args

import numpy as np

from handaxe.core.endings import DEFAULT
from handaxe.core.records import STOPPED, Advantages, Rated, Trajectory
from handaxe.ops.turn_tree import shared_turn_count, total_usage
from handaxe.rollouts.driver.others import asked_in
from handaxe.training.loop.group_play import Tried
from handaxe.training.loop.traced import Trace, ages
from handaxe.training.record.groups import Fate, GroupRecord

__all__ = ["Clock", "added_metrics", "group_metrics", "settle"]

Item = TypeVar("Item")
NO_TRACE = Trace()
_Place = tuple[Rated, int]
"""A group on its way to the batch, and the number of a sibling in it."""


class Clock:
    """Seconds of wall time by phase: `with clock("reward"): ...`"""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def __call__(self, phase: str) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[phase] = self.seconds.get(phase, 0.0) + time.perf_counter() - start

    def over(self, phase: str, items: Iterable[Item]) -> Iterator[Item]:
        """The items, counting the time in which each of them is made and not that in which it is used."""
        source = iter(items)
        while True:
            with self(phase):
                found = list(islice(source, 1))
            if not found:
                return
            yield found[0]


def settle(
    tried: list[Tried], selected: list[Rated], trained: list[Rated], *, trace: Trace = NO_TRACE
) -> list[GroupRecord]:
    """What became of every group. Of an attempt that trains more than once, the advantages are added.

    Args:
        tried: the groups of the step.
        selected: what the selector let through; `trained` is that without the surplus.
        trace: what is known besides of how attempts got there.
    """
    through = {trajectory.id for one in selected for trajectory in one.group}
    final: dict[str, list[_Place]] = {}
    for one in trained:
        for i, trajectory in enumerate(one.group):
            final.setdefault(trajectory.id, []).append((one, i))
    return [_traced(_settle(one, through, final), trace) for one in tried]


def _traced(one: GroupRecord, trace: Trace) -> GroupRecord:
    pushed = trace.pushed
    return replace(
        one,
        left_out_by=tuple(trace.left_out_by.get(trajectory.id, "") for trajectory in one.group),
        ages=ages(one.group, trace.begun),
        pushed=None if pushed is None else tuple(pushed.get(trajectory.id) for trajectory in one.group),
    )


def _settle(one: Tried, through: set[str], final: dict[str, list[_Place]]) -> GroupRecord:
    none_G = np.zeros(len(one.group), bool)
    if one.rated is None:
        return GroupRecord(one.group, none_G, none_G, fate=one.fate)
    rated = one.rated
    place = {trajectory.id: i for i, trajectory in enumerate(rated.group)}
    every = [final.get(trajectory.id, [(rated, i)]) for i, trajectory in enumerate(rated.group)]
    now = [places[-1] for places in every]
    advantages = Advantages(
        tokens=tuple(_added_up(places) for places in every),
        returns=_each([(r.advantages.returns, i) for r, i in now]),
        trains=tuple(_trains(r, i) for r, i in now) if any(r.advantages.trains is not None for r, _ in now) else None,
    )
    fate = one.fate
    if not any(t.id in final for t in rated.group):
        fate = "surplus" if any(t.id in through for t in rated.group) else "unselected"
    return GroupRecord(
        group=one.group,
        scored=np.array([trajectory.id in place for trajectory in one.group], bool),
        trained=np.array([any(_trained(*place) for place in final.get(t.id, ())) for t in one.group], bool),
        scores=rated.scores,
        advantages=advantages,
        fate=fate,
        part=now[0][0].part if now else 0,
    )


def _added_up(places: list[_Place]) -> tuple[np.ndarray, ...]:
    """The advantages [T] of all places in which an attempt trains; those of the last one where it trains in none."""
    rows = [rated.advantages.tokens[i] for rated, i in places if _trained(rated, i)]
    return tuple(sum(arrays[1:], arrays[0]) for arrays in zip(*rows)) if rows else _last(places)


def _last(places: list[_Place]) -> tuple[np.ndarray, ...]:
    rated, i = places[-1]
    return rated.advantages.tokens[i]


def _each(
    found: list[tuple[tuple[tuple[np.ndarray, ...], ...] | None, int]],
) -> tuple[tuple[np.ndarray, ...], ...] | None:
    """Of each its i-th; None where one has none."""
    return tuple(one[i] for one, i in found if one is not None) if all(one is not None for one, _ in found) else None


def _trains(rated: Rated, i: int) -> tuple[np.ndarray, ...]:
    trains = rated.advantages.trains
    return tuple(sequence.mask for sequence in rated.group[i].sequences) if trains is None else trains[i]


def _trained(rated: Rated, i: int) -> bool:
    return bool(rated.trained[i])


def group_metrics(groups: list[GroupRecord], seconds: dict[str, float]) -> dict[str, float]:
    """Metrics of a step's groups; failures are counted apart and enter no mean.

    reward, channel/NAME       mean outcome and channels over the scored trajectories
    reward/turns, reward/all   likewise what their turns earned, and that with the outcome; only where turns earn
    reward_spread              mean over groups of the (population) standard deviation of outcomes
    calls, turns, tokens       a trajectory, over the scored ones; calls and tokens with those that were taken back
    ending/KIND, reply/STATUS  counts over everything generated
    groups, groups/FATE        how many groups, and what became of them; groups/zero_advantage, groups/lone
    groups/zero_low            of those without advantage the ones whose mean outcome is below the mean of all
    advantage/within           share of the advantages' squares that lies about their attempts' means: 0 where each
                               attempt has one advantage, towards 1 where its parts, such as turns, are told apart
    trained_share              of the generated trajectories
    seconds/PHASE              wall time, of rewards beside sampling only what was waited for at the end;
                               seconds/tools is the sum over calls, which run side by side
    calls/made                 the sum over everything generated; what forks share counts once
    asked/NAME/tokens, /turns, /calls    what other engines said and called, summed over everything; only where they
                               said something
    calls/executed             of these, those that a tool replied to; what forks share counts once
    trajectories/left          how many trajectories have forks that share a turn with them
    tokens/sampled, /trained   sums over everything generated, as calls/made, and over the tokens that train; a rate is
                               a sum over steps by the seconds of all phases, since groups may be played steps before
    stopped, stopped/share     attempts stopped since they were no longer needed, and their share of the generated ones
    stopped/tokens, /turns     means over those, up to the stop: where they exceed tokens and turns, what is kept is
                               biased towards the short; only where some were stopped
    """
    everything = [trajectory for one in groups for trajectory in one.group]
    scored = [t for one in groups for t, seen in zip(one.group, one.scored) if seen]
    replies = [reply for trajectory in everything for reply in trajectory.replies]
    trained = [t for one in groups for t, seen in zip(one.group, one.trained) if seen]
    out = _scores(groups)
    for name, values in {
        "calls": [t.used.calls for t in scored],
        "turns": [len(t.turns) for t in scored],
        "tokens": [t.used.tokens for t in scored],
    }.items():
        out[name] = _mean(values)
    out |= dict.fromkeys((f"ending/{kind}" for kind in DEFAULT), 0.0)
    out |= {f"ending/{k}": float(n) for k, n in Counter(t.ending.kind for t in everything).items()}
    out |= {f"reply/{k}": float(n) for k, n in Counter(reply.status for reply in replies).items()}
    out |= _counts(groups)
    out["trajectories"], out["trajectories/trained"] = float(len(everything)), float(len(trained))
    out["trained_share"] = len(trained) / len(everything) if everything else 0.0
    used = [total_usage(one.group) for one in groups]
    out["calls/made"] = float(sum(one.calls for one in used))
    own = [turn for t in everything for turn in t.turns[shared_turn_count(t) :]]
    left = {t.branch_of.trajectory for t in everything if t.branch_of and shared_turn_count(t)}
    out["calls/executed"], out["trajectories/left"] = float(sum(len(turn.replies) for turn in own)), float(len(left))
    out["tokens/sampled"] = float(sum(one.tokens for one in used))
    out["tokens/trained"] = float(sum(_tokens_trained(one) for one in groups))
    out |= _stopped(everything) | _asked(everything)
    out |= {f"seconds/{phase}": value for phase, value in seconds.items()}
    out["seconds/tools"] = float(sum(reply.seconds for reply in replies))
    return out


def added_metrics(trained: Sequence[Rated], played: Sequence[Rated]) -> dict[str, float]:
    """What a selector added to what was played: attempts of earlier steps, which are not in the record of this step,
    and attempts that train once more. Nothing where nothing was added.

    added, added/tokens    attempts, and tokens of them that train;  added/share    of all tokens that train
    """
    fresh = {trajectory.id for one in played for trajectory in one.group}
    tokens = added = count = 0
    for one in trained:
        for i in np.flatnonzero(one.trained):
            train = sum(int(mask_T.sum()) for mask_T in one.training_mask(int(i)))
            tokens += train
            if one.group[int(i)].id in fresh:
                fresh.remove(one.group[int(i)].id)
            else:
                added, count = added + train, count + 1
    if not count:
        return {}
    return {"added": float(count), "added/tokens": float(added), "added/share": added / max(1, tokens)}


def _tokens_trained(one: GroupRecord) -> int:
    place, trains = np.cumsum(one.scored) - 1, None if one.advantages is None else one.advantages.trains
    if trains is None:
        return sum(trajectory.num_tokens for trajectory, kept in zip(one.group, one.trained) if kept)
    return sum(
        int((sequence.mask & trains_T).sum())
        for i in np.flatnonzero(one.trained)
        for sequence, trains_T in zip(one.group[int(i)].sequences, trains[place[i]], strict=True)
    )


def _asked(everything: list[Trajectory]) -> dict[str, float]:
    out: Counter[str] = Counter()
    for one in (said for trajectory in everything for said in asked_in(trajectory)):
        out[f"asked/{one.by}/tokens"] += one.num_tokens
        out[f"asked/{one.by}/turns"] += len(one.turns)
        out[f"asked/{one.by}/calls"] += len(one.calls)
    return {name: float(count) for name, count in out.items()}


def _stopped(everything: list[Trajectory]) -> dict[str, float]:
    stopped = [one for one in everything if one.ending == STOPPED]
    out = {"stopped": float(len(stopped)), "stopped/share": len(stopped) / max(1, len(everything))}
    if stopped:
        out["stopped/tokens"] = _mean([one.num_tokens for one in stopped])
        out["stopped/turns"] = _mean([len(one.turns) for one in stopped])
    return out


def _scores(groups: list[GroupRecord]) -> dict[str, float]:
    scores = [one.scores for one in groups if one.scores is not None]
    names = dict.fromkeys(name for one in scores for name in one.channels)
    out = {"reward": _mean([float(v) for one in scores for v in one.outcome])}
    out["reward_spread"] = _mean([float(one.outcome.std()) for one in scores])
    if any(one.turns is not None for one in scores):
        turns = [float(np.sum(own)) for one in scores for own in one.turns or [0.0] * len(one.outcome)]
        out["reward/turns"] = _mean(turns)
        out["reward/all"] = out["reward"] + out["reward/turns"]
    for name in names:
        out[f"channel/{name}"] = _mean([float(v) for one in scores for v in one.channels.get(name, ())])
    return out


def _counts(groups: list[GroupRecord]) -> dict[str, float]:
    fates = Counter(one.fate for one in groups)
    rated = [one.advantages.tokens for one in groups if one.advantages is not None]
    flat = [not any(np.any(array) for sequences in one for array in sequences) for one in rated]
    outcomes = [one.scores.outcome for one in groups if one.advantages is not None and one.scores is not None]
    mean = float(np.concatenate(outcomes).mean()) if outcomes else 0.0
    low = [still and own.mean() < mean for still, own in zip(flat, outcomes, strict=True)]
    return {
        "groups": float(len(groups)),
        **{f"groups/{fate}": float(fates[fate]) for fate in get_args(Fate)},
        "groups/zero_advantage": float(sum(flat)),
        "groups/zero_low": float(sum(low)),
        "groups/lone": float(sum(int(one.scored.sum()) == 1 for one in groups)),
        "advantage/within": _within(groups),
    }


def _within(groups: list[GroupRecord]) -> float:
    about, squares = 0.0, 0.0
    for one in groups:
        if one.advantages is None:
            continue
        scored = [trajectory for trajectory, seen in zip(one.group, one.scored, strict=True) if seen]
        for place, trajectory in enumerate(scored):
            values = _values_that_train(one.advantages, place, trajectory)
            if len(values):
                about += float(((values - values.mean()) ** 2).sum())
                squares += float((values**2).sum())
    return about / squares if squares else 0.0


def _values_that_train(advantages: Advantages, place: int, trajectory: Trajectory) -> np.ndarray:
    masks = [sequence.mask for sequence in trajectory.sequences]
    if advantages.trains is not None:
        masks = [mask & trains for mask, trains in zip(masks, advantages.trains[place], strict=True)]
    return np.concatenate([adv[mask] for adv, mask in zip(advantages.tokens[place], masks, strict=True)] or [[]])


def _mean(values: list[float] | list[int]) -> float:
    """The mean, NaN of nothing: a step in which nothing was scored has no reward, not a reward of 0."""
    return float(np.mean(values)) if values else float("nan")
