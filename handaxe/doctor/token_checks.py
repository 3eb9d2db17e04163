"""Checks of tokens: the mask of trained tokens, and agreement of log-probs between sampler and trainer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from handaxe.core.errors import HandaxeError, RecordError
from handaxe.core.images import Image, is_image_id
from handaxe.core.protocols import ChatFormat, Engine
from handaxe.core.records import Author, Group, RatedGroup, Sampling, TokenSequence, Trajectory
from handaxe.core.requests import Completion, Sample
from handaxe.core.validation import check_group
from handaxe.doctor.finding import THRESHOLDS, Finding, Thresholds, grade, not_checked
from handaxe.ops.seeds import derive_seed
from handaxe.training.loop.batch import Row, pad, temperature
from handaxe.training.record.groups import RecordedGroup

__all__ = ["OTHER_SAMPLING", "check_logps", "check_mask"]

MIN_SHARE = 0.02
"""Minimum share of trained tokens; below it, prompts and replies take nearly all compute."""
OTHER_SAMPLING = Sampling(temperature=0.7, top_p=0.9, max_tokens=16)
"""Further sampling parameters for the check: some errors show only at temperature != 1 or with truncated logits."""
PROMPTS = 8
MOST_ROWS = 256


# --- mask --------------------------------------------------------------------------------------------------------


def check_mask(groups: Sequence[RecordedGroup], format: ChatFormat) -> Finding:
    """Check that exactly the sampled tokens of the policy train, stop ids included, and report their share.

    The tokens of each turn must decode to the text that was parsed as the policy's turn. No other token may train.

    Args:
        groups: records of the trial steps.
        format: chat format that decodes.
    """
    trajectories = [trajectory for one in groups for trajectory in one.played.group]
    if not any(trajectory.turns for trajectory in trajectories):
        return not_checked("mask", "no rollout has a turn")
    problems = list[str]()
    for one in groups:
        try:
            check_group(Group(one.played.group.task, one.played.group.trajectories))
        except RecordError as error:
            problems.append(str(error).replace("\n ", ""))
    for trajectory in trajectories:
        problems += _span_problems(trajectory, format)
    masks = [mask for one in groups for mask in _trained(one)]
    total, trained = sum(len(mask) for mask in masks), sum(int(mask.sum()) for mask in masks)
    turns = [turn for one in trajectories for turn in one.turns]
    ended = sum(turn.finish == "stop" for turn in turns)
    figures = {"tokens": float(total), "trained": float(trained), "turns": float(len(turns)), "stopped": float(ended)}
    if problems:
        return Finding(
            "mask",
            "error",
            f"{len(problems)} rollouts or groups train other tokens than those sampled by the policy: {problems[0]}",
            "a rollout of your own must build sequences with rollouts.play; a format must decode what it parsed",
            figures,
        )
    if not trained:
        return Finding("mask", "warning", "no token trains", "see zero gradient below for the reason", figures)
    share = trained / total
    figures["share"] = share
    found = f"{share:.1%} of {total:,} tokens train, all sampled by the policy, {ended} stop ids included"
    if share < MIN_SHARE:
        remedy = "prompts and replies take nearly all compute: shorten them"
        return Finding("mask", "warning", found, remedy, figures)
    return Finding("mask", "ok", found, figures=figures)


def _trained(one: RecordedGroup) -> list[np.ndarray]:
    """[T] bool of each trained sequence: tokens that enter the loss."""
    if not isinstance(one, RatedGroup):
        return []
    return [mask_T for i in np.flatnonzero(one.trained) for mask_T in one.training_mask(int(i))]


def _span_problems(trajectory: Trajectory, format: ChatFormat) -> list[str]:
    """The first problem with the token spans of the turns; [] for none."""
    problems = []
    for number, turn in enumerate(trajectory.turns):
        sequence = trajectory.sequences[turn.sequence]
        ids = [int(i) for i in sequence.ids[turn.start : turn.stop]]
        if format.decode(ids) != turn.parsed.raw:
            problems.append(
                f"turn {number} of {trajectory.id!r} trains on {format.decode(ids)[:60]!r}, but the policy sampled "
                f"{turn.parsed.raw[:60]!r}"
            )
        elif turn.finish == "stop" and not (ids[-1] in format.stop_ids and sequence.mask[turn.stop - 1]):
            problems.append(f"turn {number} of {trajectory.id!r} ended with a stop id that does not train")
    return problems[:1]


# --- log-probs ---------------------------------------------------------------------------------------------------


def check_logps(engine: Engine, groups: Sequence[RecordedGroup], *, limits: Thresholds = THRESHOLDS) -> Finding:
    """Compare the log-probs of sampler and trainer under the same weights.

        d = log-prob by `forward` - log-prob by `sample`, at every sampled token, both of softmax(logits / temperature)

    Error for mean |d| > limits.logp_mean[1]; warning for mean |d| > logp_mean[0] or a single |d| > logp_max. Some
    prompts are also continued with OTHER_SAMPLING and compared. With top-p or top-k sampling in the run, the mean of
    exp(trainer - behaviour) is reported: the mean importance ratio of a loss without correction for the truncation.

    Args:
        engine: with the weights that sampled the groups; not changed.
        groups: records of the trial steps.
    """
    sequences = [
        _Sampled(sequence, temperature(one), one.images)
        for group in groups
        for one in group.played.group
        for sequence in one.sequences
        if _own(sequence, engine.version).any()
    ][:MOST_ROWS]
    if not sequences:
        return not_checked("log-probs", "no token was sampled with the current weights")
    try:
        own, behaviour = _differences(engine, sequences)
        other, _ = _differences(engine, _continuations(engine, groups))
    except HandaxeError as error:
        return not_checked("log-probs", f"the engine cannot compute the log-probs of its samples: {error}")
    both = [np.abs(one) for one in (own, other) if len(one)]
    mean, most = max(float(one.mean()) for one in both), max(float(one.max()) for one in both)
    figures = {"tokens": float(len(own) + len(other)), "mean": mean, "max": most, "ratio": float(np.exp(own).mean())}
    figures["behaviour_ratio"] = float(np.exp(behaviour).mean())
    sampling = _sampling(groups)
    found = (
        f"differ by {mean:.1e} in the mean and {most:.1e} at most, over {len(own)} tokens at {_describe(sampling)} and "
        f"{len(other)} at {_describe(OTHER_SAMPLING)} (warning above {limits.logp_mean[0]:g}, error above "
        f"{limits.logp_mean[1]:g} in the mean)"
    )
    level = grade(mean, limits.logp_mean)
    remedy = "sampler and trainer have other weights, or another temperature or truncation: load the same model in both"
    if level == "warning" or (level == "ok" and most > limits.logp_max):
        remedy = "probably a coarser number format: sample in the trainer's format, or add a correction "
        return Finding("log-probs", "warning", found, f"{remedy}(losses.corrections)", figures)
    if level == "ok" and (sampling.top_p < 1 or sampling.top_k):
        ratio = figures["behaviour_ratio"]
        found += f"; the run truncates its samples, and the mean ratio to the behaviour policy is {ratio:.3f}"
        if abs(ratio - 1) > limits.logp_mean[1]:
            remedy = "add a correction (losses.corrections), or sample without top-p and top-k"
            return Finding("log-probs", "warning", found, remedy, figures)
    return Finding("log-probs", level, found, "" if level == "ok" else remedy, figures)


class _Sampled(NamedTuple):
    """A sequence, the divisor of its logits, and the images of its image tokens."""

    sequence: TokenSequence
    temperature: float
    images: tuple[Image, ...]


def _own(sequence: TokenSequence, version: int) -> np.ndarray:
    return (sequence.author == Author.POLICY) & (sequence.version == version)


def _differences(engine: Engine, sequences: Sequence[_Sampled]) -> tuple[np.ndarray, np.ndarray]:
    """Log-probs of trainer minus sampler and of trainer minus behaviour, at tokens of the current weights."""
    if not sequences:
        return np.zeros(0), np.zeros(0)
    rows = [
        Row(sequence, np.zeros(len(sequence)), 0, k, hot, images=images)
        for k, (sequence, hot, images) in enumerate(sequences)
    ]
    measured = engine.forward(pad(rows, pad_id=engine.pad_id), names=("logp",))["logp"].double().cpu().numpy()
    sampled, behaviour = list[np.ndarray](), list[np.ndarray]()
    for k, (sequence, _, _) in enumerate(sequences):
        own = _own(sequence, engine.version)
        logp = measured[k, : len(sequence)][own]
        sampled.append(logp - sequence.logp[own])
        behaviour.append(logp - sequence.behaviour_logp[own])
    return np.concatenate(sampled), np.concatenate(behaviour)


def _continuations(engine: Engine, groups: Sequence[RecordedGroup]) -> list[_Sampled]:
    """Some prompts of the groups, continued with OTHER_SAMPLING."""
    begun = [one for group in groups for one in group.played.group if one.turns][:PROMPTS]
    prompts = [(one.sequences[one.turns[0].sequence].ids[: one.turns[0].start], one.images) for one in begun]
    requests = [
        Sample([int(i) for i in ids], OTHER_SAMPLING, derive_seed("doctor", k), frozenset(), images=images)
        for k, (ids, images) in enumerate(prompts)
        if len(ids) + OTHER_SAMPLING.max_tokens <= engine.max_length
    ]
    done = engine.sample(requests)
    return [
        _Sampled(_sequence(request, one), OTHER_SAMPLING.temperature, request.images)
        for request, one in zip(requests, done)
    ]


def _sequence(request: Sample, done: Completion) -> TokenSequence:
    before, count = len(request.ids), len(done.ids)

    def joined(head: float, tail: Sequence[Any], dtype: Any) -> np.ndarray:
        return np.array([*[head] * before, *tail], dtype)

    return TokenSequence(
        ids=np.array([*request.ids, *done.ids], np.int64 if is_image_id(max(request.ids)) else np.int32),
        author=joined(Author.TEMPLATE, [Author.POLICY] * count, np.int8),
        turn=joined(-1, [0] * count, np.int16),
        logp=joined(0.0, done.logp, np.float32),
        behaviour_logp=joined(0.0, done.behaviour_logp, np.float32),
        version=joined(-1, done.version, np.int32),
    )


def _sampling(groups: Sequence[RecordedGroup]) -> Sampling:
    return next((turn.sampling for one in groups for t in one.played.group for turn in t.turns), Sampling())


def _describe(sampling: Sampling) -> str:
    cuts = [f"top-p {sampling.top_p:g}"] if sampling.top_p < 1 else []
    cuts += [f"top-k {sampling.top_k}"] if sampling.top_k else []
    return ", ".join([f"temperature {sampling.temperature:g}", *cuts])
