"""Metrics of a step, computed from its groups."""

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import TypeVar, get_args

import numpy as np

from handaxe.core.endings import DEFAULT
from handaxe.core.records import STOPPED, Advantages, RatedGroup, Trajectory
from handaxe.ops.ragged import scatter, token_turn_indices
from handaxe.ops.turn_tree import shared_turn_count, total_usage
from handaxe.rollouts.driver.aux_engines import nested_aux_trajectories
from handaxe.training.record.groups import Fate, RecordedGroup, group_fate, scored_siblings

__all__ = ["Clock", "added_metrics", "group_metrics"]

Item = TypeVar("Item")


class Clock:
    """Wall time in seconds by phase: `with clock("reward"): ...`"""

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
        """Iterate over items; counts the time to make each item, not the time to use it."""
        source = iter(items)
        while True:
            with self(phase):
                found = list(islice(source, 1))
            if not found:
                return
            yield found[0]


def group_metrics(groups: Sequence[RecordedGroup], seconds: dict[str, float]) -> dict[str, float]:
    """Compute the metrics of a step's groups. Failures are counted separately and enter no mean.

    reward, channel/NAME       mean outcome and channels over the scored rollouts
    reward/turns, reward/all   likewise of rewards of turns, and of outcome and turns; only if turns are rewarded
    reward_spread              mean over groups of the (population) standard deviation of outcomes
    calls, turns, tokens       mean over the scored rollouts; calls and tokens with turns taken back
    ending/KIND, reply/STATUS  counts over all rollouts
    groups, groups/FATE        number of groups, in all and by fate; groups/zero_advantage, groups/lone
    groups/zero_low            groups without advantage whose mean outcome is below the mean of all
    advantage/within           share of the advantages' squares around the means of their rollouts: 0 if each rollout
                               has one advantage, towards 1 if its parts, such as turns, have different ones
    advantage/scale_spread     standard deviation / mean, over groups with advantages, of the root mean square of the
                               rollouts' advantages: 0 if every group has one scale, as with `group_norm`
    advantage/turn_index       share of the advantages' squares in the means of turn indices: 1 if advantages depend on
                               the number of the turn alone, 0 if their mean is 0 at each index
    value/explained_variance   1 - var(return - value) / var(return) over trained tokens; only if groups have values of
                               a critic and targets that vary: 1 for an exact critic, 0 for a constant one
    images, image_tokens       means over scored rollouts of distinct images and of their tokens, which `tokens` leaves
                               out; only if some rollout has an image
    trained_share              trained rollouts / all rollouts
    trajectories/masked        rollouts with tokens that a part of the step left out of the loss
    seconds/PHASE              wall time; of rewards beside sampling only the wait at the end. seconds/tools is the sum
                               over calls, which run concurrently
    calls/made                 sum over all rollouts; calls that forks share count once
    calls/executed             calls of these with a tool's reply
    asked/NAME/tokens, /turns, /calls    sums over auxiliary policies; only if they took a turn
    trajectories/left          trajectories with forks that share a turn with them
    tokens/sampled, /trained   sums over all rollouts, as calls/made, and over trained tokens. For a rate divide sums
                               over several steps by the seconds of all phases, since groups may be played steps before
    stopped, stopped/share     stopped rollouts, and their share of all
    stopped/tokens, /turns     means over stopped rollouts up to the stop; only if some were stopped. Above tokens and
                               turns, the kept rollouts are biased towards short ones
    """
    everything = [trajectory for one in groups for trajectory in one.played.group]
    scored = [trajectory for one in groups for trajectory in scored_siblings(one)]
    replies = [reply for trajectory in everything for reply in trajectory.replies]
    trained = sum(int(one.trained.sum()) for one in groups if isinstance(one, RatedGroup))
    out = _scores(groups)
    for name, values in {
        "calls": [t.usage.calls for t in scored],
        "turns": [len(t.turns) for t in scored],
        "tokens": [t.usage.tokens for t in scored],
    }.items():
        out[name] = _mean(values)
    if any(t.images for t in scored):
        out["images"] = _mean([len(t.images) for t in scored])
        out["image_tokens"] = _mean([t.num_image_tokens for t in scored])
    out |= dict.fromkeys((f"ending/{kind}" for kind in DEFAULT), 0.0)
    out |= {f"ending/{k}": float(n) for k, n in Counter(t.ending.kind for t in everything).items()}
    out |= {f"reply/{k}": float(n) for k, n in Counter(reply.status for reply in replies).items()}
    out |= _counts(groups)
    out["trajectories"], out["trajectories/trained"] = float(len(everything)), float(trained)
    histories = [history for one in groups for history in one.played.dispositions]
    out["trajectories/masked"] = float(sum(any(one.kind == "masked" for one in history) for history in histories))
    out["trained_share"] = trained / len(everything) if everything else 0.0
    usage = [total_usage(one.played.group) for one in groups]
    out["calls/made"] = float(sum(one.calls for one in usage))
    own = [turn for t in everything for turn in t.turns[shared_turn_count(t) :]]
    left = {t.branch_of.trajectory for t in everything if t.branch_of and shared_turn_count(t)}
    out["calls/executed"], out["trajectories/left"] = float(sum(len(turn.replies) for turn in own)), float(len(left))
    out["tokens/sampled"] = float(sum(one.tokens for one in usage))
    out["tokens/trained"] = float(sum(_trained_tokens(one) for one in groups if isinstance(one, RatedGroup)))
    out |= _stopped(everything) | _aux_turns(everything)
    out |= _explained_variance([one for one in groups if isinstance(one, RatedGroup)])
    out |= {f"seconds/{phase}": value for phase, value in seconds.items()}
    out["seconds/tools"] = float(sum(reply.seconds for reply in replies))
    return out


def added_metrics(trained: Sequence[RatedGroup], played: Sequence[RatedGroup]) -> dict[str, float]:
    """Count rollouts that a selector added: of earlier steps, or of this step once more. {} if there are none.

    added, added/tokens    rollouts, and their trained tokens;  added/share    share of all trained tokens
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


def _trained_tokens(one: RatedGroup) -> int:
    masks = (one.training_mask(int(i)) for i in np.flatnonzero(one.trained))
    return sum(int(mask_T.sum()) for own in masks for mask_T in own)


def _aux_turns(everything: list[Trajectory]) -> dict[str, float]:
    out: Counter[str] = Counter()
    for one in (said for trajectory in everything for said in nested_aux_trajectories(trajectory)):
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


def _scores(groups: Sequence[RecordedGroup]) -> dict[str, float]:
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


def _counts(groups: Sequence[RecordedGroup]) -> dict[str, float]:
    fates = Counter(group_fate(one) for one in groups)
    rated = [one for one in groups if isinstance(one, RatedGroup)]
    flat = [not any(np.any(array) for sequences in one.advantages.tokens for array in sequences) for one in rated]
    outcomes = [one.scores.outcome for one in rated]
    mean = float(np.concatenate(outcomes).mean()) if outcomes else 0.0
    low = [still and own.mean() < mean for still, own in zip(flat, outcomes, strict=True)]
    return {
        "groups": float(len(groups)),
        **{f"groups/{fate}": float(fates[fate]) for fate in get_args(Fate)},
        "groups/zero_advantage": float(sum(flat)),
        "groups/zero_low": float(sum(low)),
        "groups/lone": float(sum(len(scored_siblings(one)) == 1 for one in groups)),
        "advantage/within": _within(rated),
        "advantage/scale_spread": _scale_spread(rated),
        "advantage/turn_index": _turn_index(rated),
    }


def _within(rated: Sequence[RatedGroup]) -> float:
    around, squares = 0.0, 0.0
    for one in rated:
        for place, trajectory in enumerate(one.group):
            values = _trained_values(one.advantages, place, trajectory)
            if len(values):
                around += float(((values - values.mean()) ** 2).sum())
                squares += float((values**2).sum())
    return around / squares if squares else 0.0


def _scale_spread(rated: Sequence[RatedGroup]) -> float:
    scales = []
    for one in rated:
        values = [_trained_values(one.advantages, place, trajectory) for place, trajectory in enumerate(one.group)]
        squares = [float((own**2).mean()) for own in values if len(own)]
        scales += [float(np.sqrt(np.mean(squares)))] if any(squares) else []
    return float(np.std(scales) / np.mean(scales)) if scales else 0.0


def _turn_index(rated: Sequence[RatedGroup]) -> float:
    values, index = [np.zeros(0)], [np.zeros(0, int)]
    for one in rated:
        for place, trajectory in enumerate(one.group):
            turns = scatter(trajectory, token_turn_indices(trajectory))
            masks = one.training_mask(place)
            values += [adv_T[mask_T] for adv_T, mask_T in zip(one.advantages.tokens[place], masks, strict=True)]
            index += [turn_T[mask_T].astype(int) for turn_T, mask_T in zip(turns, masks, strict=True)]
    value_N, turn_N = np.concatenate(values), np.concatenate(index)
    squares = float((value_N**2).sum())
    sums, counts = np.bincount(turn_N, value_N), np.bincount(turn_N)
    return float((sums**2 / np.maximum(counts, 1)).sum()) / squares if squares else 0.0


def _explained_variance(rated: Sequence[RatedGroup]) -> dict[str, float]:
    """The critic's share of the variance of the value targets; {} without a critic or without variance."""
    values, targets = [np.zeros(0)], [np.zeros(0)]
    for one in rated:
        for place, trajectory in enumerate(one.group):
            if one.advantages.returns is None or not one.trained[place]:
                continue
            masks, returns = one.training_mask(place), one.advantages.returns[place]
            for sequence, mask, target in zip(trajectory.sequences, masks, returns, strict=True):
                if "value" in sequence.features:
                    values.append(sequence.features["value"][mask])
                    targets.append(target[mask])
    value, target = np.concatenate(values), np.concatenate(targets)
    if not len(target) or not target.var():
        return {}
    return {"value/explained_variance": float(1.0 - (target - value).var() / target.var())}


def _trained_values(advantages: Advantages, place: int, trajectory: Trajectory) -> np.ndarray:
    masks = [sequence.mask for sequence in trajectory.sequences]
    if advantages.trains is not None:
        masks = [mask & trains for mask, trains in zip(masks, advantages.trains[place], strict=True)]
    return np.concatenate([adv[mask] for adv, mask in zip(advantages.tokens[place], masks, strict=True)] or [[]])


def _mean(values: list[float] | list[int]) -> float:
    """Mean; NaN without values: a step without scores has no reward, which is not a reward of 0."""
    return float(np.mean(values)) if values else float("nan")
