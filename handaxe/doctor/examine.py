"""Checks all parts of a run within a minute or two, before the run."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from handaxe.core.errors import InputError
from handaxe.core.protocols import Engine
from handaxe.core.records import Trajectory
from handaxe.doctor.chat_format_checks import check_control_text, check_prefix_ids, check_stops, model_ends
from handaxe.doctor.cost import Cost, check_forecast, check_memory, check_time, count_evaluations
from handaxe.doctor.expert_checks import Demonstrations, check_empty, check_expert, check_limits, play_demonstrations
from handaxe.doctor.finding import THRESHOLDS, Finding, Thresholds, not_checked
from handaxe.doctor.images import check_images
from handaxe.doctor.reward_checks import check_determinism, check_zero_gradient
from handaxe.doctor.token_checks import check_logps, check_mask
from handaxe.doctor.tool_checks import check_failures, check_latency, check_sizes
from handaxe.doctor.trial_steps import CheckpointCost, TrialSteps, check_steps, restored_state, run_trial
from handaxe.doctor.truncation import check_truncation
from handaxe.engines.cluster.engine import ClusterEngine
from handaxe.methods.evaluator import HeldOutEvaluator
from handaxe.training.loop.config import Evaluate
from handaxe.training.loop.train import train
from handaxe.worlds.world import World

__all__ = ["examine"]

SECONDS = 60.0
TASKS = 16
"""Limit of tasks for the expert."""
FEW = 8
"""Tasks of an evaluation that are timed first."""
Report = Callable[[str], None]


def examine(
    arguments: Mapping[str, Any],
    *,
    world: World | None = None,
    stages: int = 0,
    limits: Thresholds = THRESHOLDS,
    seconds: float = SECONDS,
    report: Report = lambda activity: None,
) -> list[Finding]:
    """Check the arguments of `train`: chat format, mask, log-probs, reward, world, tools, cost.

    Plays and trains one or two steps of the run in a temporary folder, with as many groups as the time allows. The
    state of engine and other parts is restored afterwards, so that `train` can be called with the same objects.

    Args:
        arguments: of `train`, by name. Of `run`, only evaluation, folder and checkpoint settings are used.
        world: supplies correctness rule and expert; by default the world of `evaluate` if it is a `HeldOutEvaluator`.
        stages: number of stages before the training loop. Stages are not played, which gives a warning.
        limits: thresholds of warnings and errors.
        seconds: time limit of the steps; at least one group is played.
        report: called with the current activity.

    Returns:
        One finding per check.

    Raises:
        InputError: an argument of `train` is unknown, missing or out of range. Other errors of `train` are findings.

    Example:
        [one.found for one in examine(build(spec)) if one.level == "error"]
    """
    given = _bind(arguments)
    engine, format = given["engine"], given["format"]
    least = {"steps": 0, "groups": 1, "group_size": 1}
    if few := [f"{name} is {given[name]}" for name, enough in least.items() if given[name] < enough]:
        raise InputError(f"{', '.join(few)}: too few")
    if not seconds > 0:
        raise InputError(f"seconds is {seconds}: give more than 0")
    evaluate = _evaluate(given)
    home = world if world is not None or not isinstance(evaluate, HeldOutEvaluator) else evaluate.world
    found = [*_check_stages(stages)]
    report("playing the expert")
    demonstrations = _play_expert(home, given, seconds)
    tools = demonstrations.expert[0].tools if demonstrations.expert else ()
    ends = model_ends(engine)
    found += _tried("prefix", lambda: check_prefix_ids(format, tools))
    found += _tried("stop", lambda: check_stops(format, ends))
    found += _tried("control text", lambda: check_control_text(format, ends))
    with restored_state(engine, given["learners"], _parts(given)) as checkpoint:
        trial, used = _train_steps(given, seconds, report)
    report("checking the rollouts")
    first = next((step for step in trial.steps if any(one.scores is not None for one in step)), [])
    rollouts = trial.rollouts
    found.append(check_steps(trial, limits=limits))
    found += _tried("mask", lambda: check_mask(trial.groups, format))
    found += _tried("log-probs", lambda: check_logps(engine, trial.groups, limits=limits))
    found += _tried("reward determinism", lambda: check_determinism(given["reward"], first))
    found += _tried(
        "zero gradient",
        lambda: check_zero_gradient(
            trial.groups, group_size=given["group_size"], trains=given["updates"].epochs > 0, limits=limits
        ),
    )
    found += _check_world(home, demonstrations, given, limits)
    context, expert = engine.max_length, demonstrations.expert
    found += _tried("tool time", lambda: check_latency(rollouts, expert, limits=limits))
    found += _tried("tool failures", lambda: check_failures(rollouts, expert, limits=limits))
    found += _tried("tool output", lambda: check_sizes(rollouts, expert, format=format, context=context, limits=limits))
    found += _tried("truncation", lambda: check_truncation(rollouts, context=context, limits=limits))
    found += _check_images(home, given, rollouts, limits)
    report("timing an evaluation")
    found += _check_cost(given, trial, used, checkpoint, limits, seconds)
    return found


# --- parts -------------------------------------------------------------------------------------------------------


def _bind(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """All arguments of `train`; missing arguments have their defaults."""
    try:
        bound = inspect.signature(train).bind(**arguments)
    except TypeError as error:
        raise InputError(f"these are not the arguments of train: {error}") from None
    bound.apply_defaults()
    return bound.arguments


def _evaluate(given: Mapping[str, Any]) -> Evaluate | None:
    evaluation = given["run"].evaluation
    return None if evaluation is None else evaluation.evaluate


def _parts(given: Mapping[str, Any]) -> list[Any]:
    """Arguments other than engine and learners, which may be stateful."""
    return [value for name, value in given.items() if name not in ("engine", "learners")]


def _tried(check: str, run: Callable[[], Finding]) -> list[Finding]:
    """The finding of a check. An exception, such as of the user's own code, becomes a finding with level error."""
    try:
        return [run()]
    except Exception as error:
        return [Finding(check, "error", f"raises {type(error).__name__}: {error}", "fix the cause")]


def _check_stages(stages: int) -> list[Finding]:
    if not stages:
        return []
    return [
        not_checked(
            "stages",
            f"the run has {stages} stages before the training loop, which are not played",
            "findings about rollouts below describe the policy before the stages; to check the policy after them, "
            "train with --steps 0, and check again with --model RUN",
        )
    ]


def _play_expert(world: World | None, given: Mapping[str, Any], seconds: float) -> Demonstrations:
    if world is None:
        return Demonstrations((), (), ())
    try:
        tasks = world.tasks("train", TASKS, given["seed"])
    except Exception as error:
        return Demonstrations((), (), (), f"the world has no tasks: {error}")
    return play_demonstrations(world, given["env"], given["format"], tasks=tasks, seconds=seconds / 6)


def _train_steps(given: Mapping[str, Any], seconds: float, report: Report) -> tuple[TrialSteps, int]:
    """Train one or two trial steps; returns their record and the number of groups of each.

    Times a first group, then plays as many groups of up to two steps as the time limit allows, at least one group.
    """
    whole = given["groups"]
    with restored_state(given["engine"], given["learners"], _parts(given)):
        report("playing a first group")
        begun = time.perf_counter()
        run_trial(given, steps=1, groups=1)
        per_group = time.perf_counter() - begun  # measured also if the group ends in an error, such as a tool timeout
    groups = whole if per_group * whole <= seconds else max(int(seconds / per_group), 1)
    steps = 2 if groups == whole and 2 * per_group * whole <= seconds else 1
    report(f"playing {steps} steps of {groups} groups, about {per_group * groups * steps:.0f} s")
    return run_trial(given, steps=steps, groups=groups), groups


def _check_world(
    world: World | None, played: Demonstrations, given: Mapping[str, Any], limits: Thresholds
) -> list[Finding]:
    if world is None:
        why = "no world supplies a correctness rule"
        return [not_checked(name, why, "pass world= to examine") for name in ("expert", "empty answer", "limits")]
    found = _tried("expert", lambda: check_expert(played, world.correct, given["reward"], limits=limits))
    found += _tried("empty answer", lambda: check_empty(played, world.correct, limits=limits))
    sampling, evaluate = given["sampling"], _evaluate(given)
    if callable(sampling):
        sampling = sampling(0)
    rollout = evaluate.rollout if isinstance(evaluate, HeldOutEvaluator) else given["rollout"]
    return found + _tried(
        "limits",
        lambda: check_limits(
            played,
            world,
            given["env"],
            given["format"],
            rollout=rollout,
            max_tokens=sampling.max_tokens,
            context=given["engine"].max_length,
            limits=limits,
        ),
    )


def _check_images(
    world: World | None, given: Mapping[str, Any], rollouts: Sequence[Trajectory], limits: Thresholds
) -> list[Finding]:
    try:
        tasks = [] if world is None else world.tasks("train", TASKS, given["seed"])
        engine = given["engine"]
        model = None if isinstance(engine, ClusterEngine) else getattr(engine, "model", None)
        return check_images(
            tasks, rollouts, format=given["format"], context=engine.max_length, model=model, limits=limits
        )
    except Exception as error:
        return [Finding("images", "error", f"raises {type(error).__name__}: {error}", "fix the cause")]


def _check_cost(
    given: Mapping[str, Any],
    trial: TrialSteps,
    groups: int,
    checkpoint: CheckpointCost,
    limits: Thresholds,
    seconds: float,
) -> list[Finding]:
    keep, engine = given["run"], given["engine"]
    evaluate, every = _evaluate(given), 0 if keep.evaluation is None else keep.evaluation.every
    if not trial.walls:
        return [not_checked(name, "no step was finished") for name in ("memory", "time")]
    phases = [
        {name.removeprefix("seconds/"): value for name, value in row.items() if name.startswith("seconds/")}
        for row in trial.metrics
    ]
    evaluates = evaluate is not None and every > 0
    cost = Cost(trial.walls, phases, groups, given["groups"], save=checkpoint.seconds, checkpoint=checkpoint.bytes)
    device = getattr(engine, "device", None)

    def timed() -> Finding:
        evaluation, sampled = _time_evaluation(evaluate if evaluates else None, engine, seconds / 6)
        return check_time(
            cost._replace(evaluation=evaluation, sampled=sampled),
            steps=given["steps"],
            evaluations=count_evaluations(given["steps"], every) if evaluates else 0,
            checkpoint_every=keep.checkpoint_every,
            evaluates=evaluates,
        )

    time_found = _tried("time", timed)  # before memory: an evaluation takes memory, too
    memory = check_memory(
        cost,
        device=device if isinstance(device, torch.device) else None,
        remote=isinstance(engine, ClusterEngine),
        checkpoints=keep.checkpoints,
        out=keep.out,
        limits=limits,
    )
    longest = max((len(one.ids) for rollout in trial.rollouts for one in rollout.sequences), default=0)
    rows, reference = given["updates"].micro_batch_rows, "ref_logp" in given["updates"].annotate
    sampled = given["groups"] * given["group_size"]
    forecast = check_forecast(
        engine, longest=longest, rows=rows, sampled_rows=sampled, reference=reference, limits=limits
    )
    return [memory, *forecast, *time_found]


def _time_evaluation(evaluate: Evaluate | None, engine: Engine, seconds: float) -> tuple[float, tuple[int, int]]:
    """Estimate the seconds of a whole evaluation from as many tasks as the time limit allows.

    Returns:
        The seconds, NaN for an evaluation that cannot be sampled in part; and the numbers of sampled and of all
        rollouts.
    """
    if not isinstance(evaluate, HeldOutEvaluator) or not evaluate.tasks:
        return float("nan"), (0, 0)
    total, few = len(evaluate.tasks), min(FEW, len(evaluate.tasks))
    taken = _timed(evaluate, engine, few)
    more = min(total, int(few * seconds / max(taken, 1e-6)))
    if more > few:
        few, taken = more, _timed(evaluate, engine, more)
    return taken * total / few, (few * evaluate.samples, total * evaluate.samples)


def _timed(evaluate: HeldOutEvaluator, engine: Engine, count: int) -> float:
    begun = time.perf_counter()
    replace(evaluate, tasks=evaluate.tasks[:count]).evaluation(engine)
    return time.perf_counter() - begun
