"""Whether the right tokens train, and whether the trainer finds them as probable as the sampler said."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from handaxe.core.errors import HandaxeError, RecordError
from handaxe.core.protocols import ChatFormat, Engine
from handaxe.core.records import Author, Group, Sampling, TokenSequence, Trajectory
from handaxe.core.requests import Completion, Sample
from handaxe.core.validation import check_group
from handaxe.doctor.finding import THRESHOLDS, Finding, Thresholds, graded, unchecked
from handaxe.ops.seeds import derive_seed
from handaxe.training.loop.batch import Row, pad, temperature
from handaxe.training.record.groups import GroupRecord

__all__ = ["OTHER_SAMPLING", "check_logps", "check_mask"]

THIN = 0.02
"""Share of tokens that train below which most of the work is reading."""
OTHER_SAMPLING = Sampling(temperature=0.7, top_p=0.9, max_tokens=16)
"""What is tried besides the run's own sampling, since an error may show only where logits are divided and cut."""
PROMPTS = 8
MOST_ROWS = 256


# --- mask --------------------------------------------------------------------------------------------------------


def check_mask(groups: Sequence[GroupRecord], format: ChatFormat) -> Finding:
    """Which share of the tokens trains; whether the mask holds what the policy sampled, its stop ids among it, and
    nothing of others: the tokens of every turn decode to what was parsed as the policy's turn, and no other trains.

    Args:
        groups: as their step left them.
        format: decodes.
    """
    attempts = [trajectory for one in groups for trajectory in one.group]
    if not any(trajectory.turns for trajectory in attempts):
        return unchecked("mask", "no attempt has a turn")
    problems = list[str]()
    for one in groups:
        try:
            check_group(Group(one.group.task, one.group.trajectories))
        except RecordError as error:
            problems.append(str(error).replace("\n ", ""))
    for trajectory in attempts:
        problems += _foreign(trajectory, format)
    masks = [mask for one in groups for mask in _trained(one)]
    total, trained = sum(len(mask) for mask in masks), sum(int(mask.sum()) for mask in masks)
    turns = [turn for one in attempts for turn in one.turns]
    ended = sum(turn.finish == "stop" for turn in turns)
    figures = {"tokens": float(total), "trained": float(trained), "turns": float(len(turns)), "stopped": float(ended)}
    if problems:
        return Finding(
            "mask",
            "wrong",
            f"{len(problems)} attempts or groups train on what the policy did not write, or not on what it wrote: "
            f"{problems[0]}",
            "a rollout of your own must build sequences with rollouts.play; a format must decode what it parsed",
            figures,
        )
    if not trained:
        return Finding("mask", "look", "no token trains", "see zero gradient below for why", figures)
    share = trained / total
    figures["share"] = share
    found = f"{share:.1%} of {total:,} tokens train, all of them the policy's own, {ended} stop ids among them"
    if share < THIN:
        return Finding("mask", "look", found, "nearly all the work is reading: shorten prompts and replies", figures)
    return Finding("mask", "ok", found, figures=figures)


def _trained(one: GroupRecord) -> list[np.ndarray]:
    """Per sequence that trains [T] bool: its tokens that enter the loss."""
    out, place = list[np.ndarray](), 0
    for trajectory, scored, trained in zip(one.group, one.scored, one.trained, strict=True):
        kept = None if one.advantages is None or one.advantages.trains is None else one.advantages.trains
        if trained:
            for s, sequence in enumerate(trajectory.sequences):
                out.append(sequence.mask if kept is None or not scored else sequence.mask & kept[place][s])
        place += bool(scored)
    return out


def _foreign(trajectory: Trajectory, format: ChatFormat) -> list[str]:
    """What is wrong with the spans of the turns."""
    problems = []
    for number, turn in enumerate(trajectory.turns):
        sequence = trajectory.sequences[turn.sequence]
        ids = [int(i) for i in sequence.ids[turn.start : turn.stop]]
        if format.decode(ids) != turn.parsed.raw:
            problems.append(
                f"turn {number} of {trajectory.id!r} trains on {format.decode(ids)[:60]!r}, but the policy said "
                f"{turn.parsed.raw[:60]!r}"
            )
        elif turn.finish == "stop" and not (ids[-1] in format.stop_ids and sequence.mask[turn.stop - 1]):
            problems.append(f"turn {number} of {trajectory.id!r} ended with a stop id that does not train")
    return problems[:1]


# --- log-probs ---------------------------------------------------------------------------------------------------


def check_logps(engine: Engine, groups: Sequence[GroupRecord], *, limits: Thresholds = THRESHOLDS) -> Finding:
    """Whether the engine, as it is, finds what it sampled as probable as it said when it did.

        d = log-prob by `forward` - log-prob by `sample`, at every sampled token, both of softmax(logits / temperature)

    wrong where mean |d| > limits.logp_mean[1], to look at above logp_mean[0] or where one |d| > logp_max. Some openings
    are continued with OTHER_SAMPLING as well, and held to the same. Where the run's own sampling cuts (top-p, top-k),
    the mean of exp(trainer - behaviour) is shown: how far off ratio 1 a loss is that takes no notice of the cut.

    Args:
        engine: with the weights that the groups were sampled with; it is asked, not changed.
        groups: played with it.
    """
    sequences = [
        (sequence, temperature(one))
        for group in groups
        for one in group.group
        for sequence in one.sequences
        if _own(sequence, engine.version).any()
    ][:MOST_ROWS]
    if not sequences:
        return unchecked("log-probs", "nothing was sampled with the weights of now")
    try:
        here, cut = _differences(engine, sequences)
        there, _ = _differences(engine, _continued(engine, groups))
    except HandaxeError as error:
        return unchecked("log-probs", f"the engine does not measure what it sampled: {error}")
    both = [np.abs(one) for one in (here, there) if len(one)]
    mean, most = max(float(one.mean()) for one in both), max(float(one.max()) for one in both)
    figures = {"tokens": float(len(here) + len(there)), "mean": mean, "max": most, "ratio": float(np.exp(here).mean())}
    figures["behaviour_ratio"] = float(np.exp(cut).mean())
    sampling = _sampling(groups)
    found = (
        f"differ by {mean:.1e} in the mean and {most:.1e} at most over {len(here)} tokens at {_told(sampling)} and "
        f"{len(there)} at {_told(OTHER_SAMPLING)} (look above {limits.logp_mean[0]:g}, wrong above "
        f"{limits.logp_mean[1]:g} in the mean)"
    )
    level = graded(mean, limits.logp_mean)
    remedy = "the sampler has other weights, or divides or cuts logits otherwise: see that both read the same model"
    if level == "look" or (level == "ok" and most > limits.logp_max):
        remedy = "likely a coarser number format: sample in the trainer's, or correct for it (losses.corrections)"
        return Finding("log-probs", "look", found, remedy, figures)
    if level == "ok" and (sampling.top_p < 1 or sampling.top_k):
        ratio = figures["behaviour_ratio"]
        found += f"; the run's sampling cuts, and against what was drawn from the mean ratio is {ratio:.3f}"
        if abs(ratio - 1) > limits.logp_mean[1]:
            return Finding("log-probs", "look", found, "add a correction (losses.corrections), or cut nothing", figures)
    return Finding("log-probs", level, found, "" if level == "ok" else remedy, figures)


def _own(sequence: TokenSequence, version: int) -> np.ndarray:
    return (sequence.author == Author.POLICY) & (sequence.version == version)


def _differences(engine: Engine, sequences: Sequence[tuple[TokenSequence, float]]) -> tuple[np.ndarray, np.ndarray]:
    """Trainer minus sampler, and trainer minus what was drawn from, at every token sampled by the weights of now."""
    if not sequences:
        return np.zeros(0), np.zeros(0)
    rows = [Row(sequence, np.zeros(len(sequence)), 0, k, hot) for k, (sequence, hot) in enumerate(sequences)]
    measured = engine.forward(pad(rows, pad_id=engine.pad_id), names=("logp",))["logp"].double().cpu().numpy()
    here, cut = list[np.ndarray](), list[np.ndarray]()
    for k, (sequence, _) in enumerate(sequences):
        own = _own(sequence, engine.version)
        logp = measured[k, : len(sequence)][own]
        here.append(logp - sequence.logp[own])
        cut.append(logp - sequence.behaviour_logp[own])
    return np.concatenate(here), np.concatenate(cut)


def _continued(engine: Engine, groups: Sequence[GroupRecord]) -> list[tuple[TokenSequence, float]]:
    """Some openings of what was played, continued with OTHER_SAMPLING."""
    begun = [one for group in groups for one in group.group if one.turns][:PROMPTS]
    openings = [one.sequences[one.turns[0].sequence].ids[: one.turns[0].start] for one in begun]
    requests = [
        Sample([int(i) for i in ids], OTHER_SAMPLING, derive_seed("doctor", k), frozenset())
        for k, ids in enumerate(openings)
        if len(ids) + OTHER_SAMPLING.max_tokens <= engine.max_length
    ]
    done = engine.sample(requests)
    return [(_sequence(request, one), OTHER_SAMPLING.temperature) for request, one in zip(requests, done)]


def _sequence(request: Sample, done: Completion) -> TokenSequence:
    before, count = len(request.ids), len(done.ids)

    def joined(head: float, tail: Sequence[Any], dtype: Any) -> np.ndarray:
        return np.array([*[head] * before, *tail], dtype)

    return TokenSequence(
        ids=np.array([*request.ids, *done.ids], np.int32),
        author=joined(Author.TEMPLATE, [Author.POLICY] * count, np.int8),
        turn=joined(-1, [0] * count, np.int16),
        logp=joined(0.0, done.logp, np.float32),
        behaviour_logp=joined(0.0, done.behaviour_logp, np.float32),
        version=joined(-1, done.version, np.int32),
    )


def _sampling(groups: Sequence[GroupRecord]) -> Sampling:
    return next((turn.sampling for one in groups for t in one.group for turn in t.turns), Sampling())


def _told(sampling: Sampling) -> str:
    cuts = [f"top-p {sampling.top_p:g}"] if sampling.top_p < 1 else []
    cuts += [f"top-k {sampling.top_k}"] if sampling.top_k else []
    return ", ".join([f"temperature {sampling.temperature:g}", *cuts])
