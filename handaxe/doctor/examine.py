"""Looks at everything a run is made of, in a minute or two, before the run."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import torch

from handaxe.core.errors import InputError
from handaxe.core.protocols import Engine
from handaxe.doctor.answers import Shown, check_empty, check_expert, check_room, show
from handaxe.doctor.cost import Cost, check_memory, check_time, evaluations_of
from handaxe.doctor.cut_off import check_cut_off
from handaxe.doctor.finding import THRESHOLDS, Finding, Thresholds, unchecked
from handaxe.doctor.played import Kept, Played, check_played, play_steps, unchanged
from handaxe.doctor.replies import check_failures, check_latency, check_sizes
from handaxe.doctor.sampled import check_logps, check_mask
from handaxe.doctor.scored import check_same_twice, check_zero_gradient
from handaxe.doctor.template import check_control_text, check_keeps_prefixes, check_stops, model_ends
from handaxe.engines.cluster.engine import ClusterEngine
from handaxe.methods.evaluator import HeldOut
from handaxe.training.loop.run import Evaluate
from handaxe.training.loop.train import train
from handaxe.worlds.world import World

__all__ = ["examine"]

SECONDS = 60.0
TASKS = 16
"""Most tasks that the expert is asked to do."""
FEW = 8
"""Tasks of an evaluation that are played first, to see how long they take."""
Tell = Callable[[str], None]


def examine(
    arguments: Mapping[str, Any],
    *,
    world: World | None = None,
    stages: int = 0,
    limits: Thresholds = THRESHOLDS,
    seconds: float = SECONDS,
    tell: Tell = lambda doing: None,
) -> list[Finding]:
    """Check what `train` would be called with: chat format, mask, log-probs, reward, world, tools, cost.

    It plays and trains a step or two of the run itself, in a folder that is removed, with as many of its groups as the
    time allows. Engine and parts are afterwards as they were, so that `train` can be called with the very same.

    Args:
        arguments: those of `train`, by name; of `keep` it is only read where the run goes and how often it is kept.
        world: says what is right, and has the expert; that of `evaluate`, where it is a `HeldOut`, unless told
            otherwise.
        stages: of the run before its loop, which are not played: that is then said.
        limits: where the lines are drawn.
        seconds: that the steps may take; a group is played in any case.
        tell: told what is being done.

    Returns:
        One finding a check.

    Raises:
        InputError: arguments that `train` does not have, or lacks; numbers that cannot be. What `train` would refuse
            besides is a finding.

    Example:
        [one.found for one in examine(build(chosen)) if one.level == "wrong"]
    """
    given = _bound(arguments)
    engine, format = given["engine"], given["format"]
    least = {"steps": 0, "groups": 1, "group_size": 1}
    if few := [f"{name} is {given[name]}" for name, enough in least.items() if given[name] < enough]:
        raise InputError(f"{', '.join(few)}: too few")
    if not seconds > 0:
        raise InputError(f"seconds is {seconds}: give more than 0")
    evaluate = given["evaluate"]
    home = world if world is not None or not isinstance(evaluate, HeldOut) else evaluate.world
    found = [*_of_stages(stages)]
    tell("asking the expert")
    shown = _shown(home, given, seconds)
    tools = shown.expert[0].tools if shown.expert else ()
    told = model_ends(engine)
    found += _tried("prefix", lambda: check_keeps_prefixes(format, tools))
    found += _tried("stop", lambda: check_stops(format, told))
    found += _tried("control text", lambda: check_control_text(format, told))
    with unchanged(engine, given["learners"], _parts(given)) as kept:
        played, used = _played(given, seconds, tell)
    tell("looking at what was played")
    first = next((step for step in played.steps if any(one.scored.any() for one in step)), [])
    attempts = played.attempts
    found.append(check_played(played, limits=limits))
    found += _tried("mask", lambda: check_mask(played.groups, format))
    found += _tried("log-probs", lambda: check_logps(engine, played.groups, limits=limits))
    found += _tried("reward twice", lambda: check_same_twice(given["reward"], first))
    found += _tried(
        "zero gradient",
        lambda: check_zero_gradient(
            played.groups, group_size=given["group_size"], trains=given["epochs"] > 0, limits=limits
        ),
    )
    found += _of_answers(home, shown, given, limits)
    context, experts = engine.max_length, shown.expert
    found += _tried("tool time", lambda: check_latency(attempts, experts, limits=limits))
    found += _tried("tool failures", lambda: check_failures(attempts, experts, limits=limits))
    found += _tried(
        "tool output", lambda: check_sizes(attempts, experts, format=format, context=context, limits=limits)
    )
    found += _tried("cut off", lambda: check_cut_off(attempts, context=context, limits=limits))
    tell("timing an evaluation")
    found += _of_cost(given, played, used, kept, limits, seconds)
    return found


# --- parts of it -------------------------------------------------------------------------------------------------


def _bound(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """All arguments of `train`, those that were left out as it has them."""
    try:
        bound = inspect.signature(train).bind(**arguments)
    except TypeError as error:
        raise InputError(f"these are not the arguments of train: {error}") from None
    bound.apply_defaults()
    return bound.arguments


def _parts(given: Mapping[str, Any]) -> list[Any]:
    """What may keep state, besides engine and learners."""
    return [value for name, value in given.items() if name not in ("engine", "learners")]


def _tried(check: str, look: Callable[[], Finding]) -> list[Finding]:
    """What a check found; that a part of the user's own raised is a finding, too."""
    try:
        return [look()]
    except Exception as error:
        return [Finding(check, "wrong", f"it raises {type(error).__name__}: {error}", "mend what it says")]


def _of_stages(stages: int) -> list[Finding]:
    if not stages:
        return []
    return [
        unchecked(
            "stages",
            f"the run has {stages} stages before its loop, which are not played",
            "what is said of attempts below is of the policy before them; after a run of --steps 0, check again with "
            "--model RUN",
        )
    ]


def _shown(world: World | None, given: Mapping[str, Any], seconds: float) -> Shown:
    if world is None:
        return Shown((), (), ())
    try:
        tasks = world.tasks("train", TASKS, given["seed"])
    except Exception as error:
        return Shown((), (), (), f"the world has no tasks: {error}")
    return show(world, given["env"], given["format"], tasks=tasks, seconds=seconds / 6)


def _played(given: Mapping[str, Any], seconds: float, tell: Tell) -> tuple[Played, int]:
    """The steps that are measured, and how many groups each has: after one group that shows how long one takes, as
    many groups of up to two steps as there is time for, and one group in any case."""
    whole = given["groups"]
    with unchanged(given["engine"], given["learners"], _parts(given)):
        tell("playing a first group")
        begun = time.perf_counter()
        play_steps(given, steps=1, groups=1)
        a_group = time.perf_counter() - begun  # also of one that ended in an error, as a tool that hangs makes it do
    groups = whole if a_group * whole <= seconds else max(int(seconds / a_group), 1)
    steps = 2 if groups == whole and 2 * a_group * whole <= seconds else 1
    tell(f"playing {steps} steps of {groups} groups, about {a_group * groups * steps:.0f} s")
    return play_steps(given, steps=steps, groups=groups), groups


def _of_answers(world: World | None, shown: Shown, given: Mapping[str, Any], limits: Thresholds) -> list[Finding]:
    if world is None:
        why = "no world says what is right"
        return [unchecked(name, why, "pass world= to examine") for name in ("expert", "empty answer", "room")]
    found = _tried("expert", lambda: check_expert(shown, world.correct, given["reward"], limits=limits))
    found += _tried("empty answer", lambda: check_empty(shown, world.correct, limits=limits))
    sampling, evaluate = given["sampling"], given["evaluate"]
    if callable(sampling):
        sampling = sampling(0)
    rollout = evaluate.rollout if isinstance(evaluate, HeldOut) else given["rollout"]
    return found + _tried(
        "room",
        lambda: check_room(
            shown,
            world,
            given["env"],
            given["format"],
            rollout=rollout,
            max_tokens=sampling.max_tokens,
            context=given["engine"].max_length,
            limits=limits,
        ),
    )


def _of_cost(
    given: Mapping[str, Any], played: Played, groups: int, kept: Kept, limits: Thresholds, seconds: float
) -> list[Finding]:
    keep, engine = given["keep"], given["engine"]
    evaluate = given["evaluate"]
    if not played.walls:
        return [unchecked(name, "no step was played to its end") for name in ("memory", "time")]
    phases = [
        {name.removeprefix("seconds/"): value for name, value in row.items() if name.startswith("seconds/")}
        for row in played.metrics
    ]
    evaluates = evaluate is not None and given["eval_every"] > 0
    cost = Cost(played.walls, phases, groups, given["groups"], save=kept.seconds, checkpoint=kept.bytes)
    device = getattr(engine, "device", None)

    def timed() -> Finding:
        evaluation, tried = _evaluation(evaluate if evaluates else None, engine, seconds / 6)
        return check_time(
            cost._replace(evaluation=evaluation, tried=tried),
            steps=given["steps"],
            evaluations=evaluations_of(given["steps"], given["eval_every"]) if evaluates else 0,
            checkpoint_every=keep.checkpoint_every,
            evaluates=evaluates,
        )

    time_found = _tried("time", timed)  # first, since an evaluation takes memory, too
    memory = check_memory(
        cost,
        device=device if isinstance(device, torch.device) else None,
        elsewhere=isinstance(engine, ClusterEngine),
        checkpoints=keep.checkpoints,
        out=keep.out,
        limits=limits,
    )
    return [memory, *time_found]


def _evaluation(evaluate: Evaluate | None, engine: Engine, seconds: float) -> tuple[float, tuple[int, int]]:
    """Seconds of a whole evaluation, from as many of its tasks as there is time for, and of how many attempts that is
    said; NaN where only the whole could be asked."""
    if not isinstance(evaluate, HeldOut) or not evaluate.tasks:
        return float("nan"), (0, 0)
    total, few = len(evaluate.tasks), min(FEW, len(evaluate.tasks))
    taken = _timed(evaluate, engine, few)
    more = min(total, int(few * seconds / max(taken, 1e-6)))
    if more > few:
        few, taken = more, _timed(evaluate, engine, more)
    return taken * total / few, (few * evaluate.samples, total * evaluate.samples)


def _timed(evaluate: HeldOut, engine: Engine, count: int) -> float:
    begun = time.perf_counter()
    replace(evaluate, tasks=evaluate.tasks[:count]).evaluation(engine)
    return time.perf_counter() - begun
