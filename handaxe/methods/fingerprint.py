"""Behaviour fingerprints of runs: digests of everything but the policy, on fixed rollouts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass, replace
from functools import partial
from math import isfinite
from typing import Any

import numpy as np
import torch

from handaxe.core.errors import HandaxeError
from handaxe.core.heads import HEAD
from handaxe.core.records import Group, Message, RatedGroup, Task, TokenSequence, Trajectory
from handaxe.evaluation.estimates import columns, task_result
from handaxe.evaluation.scenes import play, script, turn_messages
from handaxe.methods.build import make_loss, make_method, make_world, offered_tools
from handaxe.methods.method import Method
from handaxe.methods.run_spec import RunSpec
from handaxe.ops.seeds import generator
from handaxe.ops.stats import ratio
from handaxe.rewards.parts.scoring import score_group
from handaxe.testing.batches import random_batch, random_policy
from handaxe.testing.losses import differentiate
from handaxe.training.loop.batch import make_batch
from handaxe.training.loop.rate import FEATURES
from handaxe.worlds.world import World

__all__ = ["Fingerprinter", "VERSION", "changed_parts"]

VERSION = 1
TASKS = 8
DIGITS = 4
"""Significant digits of numbers."""


def changed_parts(recorded: Mapping[str, Any], present: Mapping[str, Any]) -> list[str]:
    """Names of the parts whose digests differ, in order.

    Raises:
        HandaxeError: the recorded fingerprint has another version.
    """
    if recorded.get("version") != VERSION:
        raise HandaxeError(
            f"the fingerprint has version {recorded.get('version')}, and this version of handaxe makes {VERSION}: "
            "replicate again"
        )
    return [name for name in present if recorded.get(name) != present[name]]


@dataclass
class Fingerprinter:
    """Makes fingerprints. Rollouts of a world and its options are played once.

    The rollouts of the world's first 8 held-out tasks are the expert's, those of the expert of another task, and an
    empty answer. A fingerprint has a digest for each part:

        tasks        messages, answers and metadata
        rollouts     messages, calls, endings, and masks of the compact chat format
        scores       of the method's reward and of the world's correctness rule
        advantages   of credit, selection and transform, with pseudo-random log-probs, values and entropies
        loss         value and gradient sums on these rollouts, with pseudo-random log-probs
        updates      epochs, minibatches, and steps and learning rate of the critic
        evaluation   every metric, gauge and statistic

    Numbers have 4 significant digits. A part that raises has the class of the error as its value.
    """

    played: dict[object, list[Group]] = field(default_factory=dict)

    def fingerprint(self, spec: RunSpec) -> dict[str, Any]:
        """The fingerprint of a run with any seed.

        Raises:
            InputError: world or method cannot be made, for example without an extra.
        """
        world = make_world(spec)
        method = make_method(spec, world)
        key = (spec.template.world.name, repr(sorted(spec.options["world"].items())), spec.settings.tools)
        if key not in self.played:
            self.played[key] = _play_groups(world, offered_tools(spec.settings, world))
        groups = self.played[key]
        scored = [_guarded(partial(score_group, method.reward, one)) for one in groups]
        correct = [_guarded(partial(score_group, world.correct, one)) for one in groups]
        rated = _guarded(lambda: _rate(method, scored))
        return {
            "version": VERSION,
            "tasks": _digest([one.task for one in groups]),
            "rollouts": _digest([[_rollout(trajectory) for trajectory in one] for one in groups]),
            "scores": _digest([one if isinstance(one, str) else one[1] for one in (*scored, *correct)]),
            "advantages": _digest(rated if isinstance(rated, str) else [_advantages(one) for one in rated]),
            "loss": _digest(_guarded(lambda: _loss(method, rated))),
            "updates": _digest([method.epochs, method.minibatches, method.critic_warmup, method.critic_rate]),
            "evaluation": _digest(_guarded(lambda: _evaluation(world, groups))),
        }


def _advantages(one: RatedGroup) -> list[Any]:
    return [one.advantages.tokens, one.advantages.returns, one.advantages.channels, one.trained, one.live]


def _play_groups(world: World, tools: Sequence[Any]) -> list[Group]:
    """Rollouts of each task: the expert, the expert of the next task, and an empty answer."""
    tasks = world.tasks("test", TASKS, 0)[:TASKS]
    experts = [] if world.expert is None else [play(world, tools, task, world.expert) for task in tasks]
    groups = []
    for place, task in enumerate(tasks):
        own = experts[place : place + 1]
        if experts:
            other = turn_messages(experts[(place + 1) % len(tasks)])
            own.append(play(world, tools, task, script(*other), id="other"))
        own.append(play(world, tools, task, script(""), id="empty"))
        groups.append(Group(task, tuple(_featured(one) for one in own)))
    return groups


def _featured(trajectory: Trajectory) -> Trajectory:
    """A copy with pseudo-random features at the policy's tokens, and tools that take one second."""

    def sequence(number: int, one: TokenSequence) -> TokenSequence:
        values = {
            name: np.where(one.mask, generator("feature", name, number).normal(-1.0, 0.5, len(one)), 0.0)
            for name in FEATURES
        }
        return replace(one, features={name: value.astype(np.float32) for name, value in values.items()})

    turns = tuple(
        replace(turn, replies=tuple(replace(reply, seconds=1.0) for reply in turn.replies)) for turn in trajectory.turns
    )
    sequences = tuple(sequence(k, one) for k, one in enumerate(trajectory.sequences))
    return replace(trajectory, turns=turns, sequences=sequences, seconds=0.0)


def _rollout(one: Trajectory) -> dict[str, Any]:
    return {
        "messages": [
            [m.role, m.content, [[c.name, c.arguments] for c in m.calls], m.name, *_shown(m)] for m in one.messages
        ],
        "ending": [one.ending.kind, one.ending.reason],
        "lengths": [[len(sequence), int(sequence.mask.sum())] for sequence in one.sequences],
    }


def _shown(message: Message) -> list[str]:
    return [image.digest for image in message.images]


def _rate(method: Method, scored: Sequence[Any]) -> list[RatedGroup]:
    """Rated groups after credit, selection and transform; groups whose reward raises are left out."""
    known = [one for one in scored if not isinstance(one, str)]
    rated = [RatedGroup.of(group, scores, method.credit(group, scores)) for group, scores in known]
    rated = list(method.select(rated))
    return rated if method.transform is None else list(method.transform(rated))


def _loss(method: Method, rated: Sequence[RatedGroup] | str) -> dict[str, Any]:
    """Value and gradient sums on the rated groups, or on a random batch if they cannot train."""
    try:
        batch = random_batch(1) if isinstance(rated, str) else make_batch(rated, pad_id=0, dtype=torch.float64)
    except HandaxeError:
        batch = random_batch(1)
    found = differentiate(make_loss(method), random_policy(batch, 1), batch)
    read = {name: one for name, one in found.gradients.items() if not name.startswith(HEAD) or bool(one.any())}
    sums = {name: [float(one.sum()), float(one.abs().sum())] for name, one in read.items()}
    return {"value": found.value, "gradients": sums}


def _evaluation(world: World, groups: Sequence[Group]) -> dict[str, float]:
    """Metrics of all rollouts, and statistics of the first rollout of each task."""
    both = []
    for count in (len(groups[0]), 1) if groups else ():
        parts = [replace(one, trajectories=one.trajectories[:count]) for one in groups]
        both.append([task_result(one, score_group(world.correct, one)[1], gauges=world.gauges) for one in parts])
    whole, first = both
    found = {
        name: ratio(one.top_T[one.usable_T], one.bottom_T[one.usable_T])
        for name, one in columns(whole, ks=(1, 2)).items()
        if name != "seconds"
    }
    return found | {name: statistic(first) for name, statistic in world.statistics.items()}


def _guarded(work: Callable[[], Any]) -> Any:
    """The result, or the class of the error that a part of the method raised."""
    try:
        return work()
    except Exception as error:  # an error is behaviour, too
        return type(error).__name__


def _digest(value: Any) -> str:
    text = json.dumps(_plain(value), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _plain(value: Any) -> Any:
    """JSON of records and arrays, with rounded numbers."""
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return f"{float(value):.{DIGITS}g}" if isfinite(value) and value else str(float(value) + 0.0)
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, set | frozenset):
        return sorted(json.dumps(_plain(item), sort_keys=True) for item in value)
    if isinstance(value, Task):
        return [_plain([m.role, m.content, *_shown(m)]) for m in value.messages] + [
            _plain(value.answer),
            _plain(value.metadata),
        ]
    if is_dataclass(value) and not isinstance(value, type):
        return _plain({name: getattr(value, name) for name in value.__dataclass_fields__})
    return value if value is None or isinstance(value, str) else repr(value)
