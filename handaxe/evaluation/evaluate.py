"""Plays tasks without training and estimates metrics."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from handaxe.core.check_tasks import check_tasks
from handaxe.core.errors import InputError, VerifierError
from handaxe.core.metrics import RatioMetric, Statistic
from handaxe.core.protocols import AuxPolicy, ChatFormat, Engine, EnvFactory, Reward, Rollout
from handaxe.core.records import STOPPED, Group, Sampling, Scores, Task, Trajectory
from handaxe.core.requests import Attempt
from handaxe.evaluation.estimates import NO_GAUGES, NO_STATISTICS, ending_shares, estimate, estimates, task_result
from handaxe.evaluation.evaluation_result import Evaluation
from handaxe.ops.seeds import derive_seed
from handaxe.rewards.parts.scoring import score_group
from handaxe.rollouts import driver
from handaxe.rollouts.driver.aux_engines import NO_AUX_POLICIES, aux_chats, check_policy_trajectories
from handaxe.rollouts.driver.executor import Executor

__all__ = ["evaluate", "play_scored", "summarize"]


def evaluate(
    *,
    engine: Engine,
    env: EnvFactory,
    format: ChatFormat,
    rollout: Rollout,
    tasks: Sequence[Task],
    reward: Reward,
    sampling: Sampling,
    samples: int = 1,
    seed: int = 0,
    context: int | None = None,
    workers: int | Executor = 8,
    lockstep: bool = False,
    ks: Sequence[int] = (),
    breakdown: Sequence[str] = (),
    gauges: Mapping[str, RatioMetric] = NO_GAUGES,
    statistics: Mapping[str, Statistic] = NO_STATISTICS,
    correct_above: float = 0.5,
    level: float = 0.95,
    progress: Callable[[int], None] | None = None,
    aux_policies: Mapping[str, AuxPolicy] = NO_AUX_POLICIES,
) -> Evaluation:
    """Play every task `samples` times and estimate metrics with intervals.

    Args:
        engine: the evaluated policy; its weights stay as they are.
        env: a new instance a rollout.
        format: chat format.
        rollout: the strategy.
        tasks: with different ids.
        reward: correctness, independent of the training reward.
        sampling: temperature 0 makes all samples of a task equal.
        samples: rollouts a task.
        seed: rollouts are seeded by ("evaluate", seed, task id, sample), different from every training seed.
        context: longest sequence in tokens; default `engine.max_length`.
        workers: environments that act at the same time, or an executor; the result is independent of it.
        lockstep: bitwise equal results at any tool timing; see `rollouts.driver.Driver`. False: no rollout waits for
            the tool of another one; tokens are equal unless rounding changes a draw, log-probs up to rounding.
        ks: k of pass@k and pass^k; default 1 and `samples`.
        breakdown: metadata keys to break the metrics down by, such as ("difficulty",).
        gauges, statistics: further figures, by name; see handaxe.core.metrics.
        correct_above: a rollout is correct if its outcome is strictly above this.
        level: of the intervals.
        progress: called with the number of finished rollouts.
        aux_policies: further policies for rollouts and environments, by name, such as a simulated user.

    Returns:
        An Evaluation. Rollouts that ended as infra_error, or that the reward could not decide, are counted there and
        excluded from every metric.

    Raises:
        InputError: no task, two tasks with one id, samples < 1, or a k above `samples`.
        VerifierError: no rollout could be scored; the message is that of the first failure.
    """
    if any(k > samples for k in ks):
        raise InputError(f"pass@k for k in {list(ks)} needs at least {max(ks)} samples of a task, not {samples}")
    scored = play_scored(
        engine=engine,
        env=env,
        format=format,
        rollout=rollout,
        tasks=tasks,
        reward=reward,
        sampling=sampling,
        samples=samples,
        seed=seed,
        context=context,
        workers=workers,
        lockstep=lockstep,
        progress=progress,
        aux_policies=aux_policies,
    )
    settings = {"samples": samples, "seed": seed, "sampling": asdict(sampling), "version": engine.version}
    chosen = tuple(ks) or tuple(sorted({1, samples}))
    return summarize(
        scored,
        ks=chosen,
        breakdown=breakdown,
        gauges=gauges,
        statistics=statistics,
        correct_above=correct_above,
        level=level,
        settings=settings,
    )


def play_scored(
    *,
    engine: Engine,
    env: EnvFactory,
    format: ChatFormat,
    rollout: Rollout,
    tasks: Sequence[Task],
    reward: Reward,
    sampling: Sampling,
    samples: int = 1,
    seed: int = 0,
    context: int | None = None,
    workers: int | Executor = 8,
    lockstep: bool = False,
    progress: Callable[[int], None] | None = None,
    aux_policies: Mapping[str, AuxPolicy] = NO_AUX_POLICIES,
) -> list[tuple[Group, Scores]]:
    """Play and score the rollouts of `evaluate`.

    Args:
        engine, env, format, rollout, tasks, reward, sampling, samples, seed, context: see `evaluate`.
        workers, lockstep, progress, aux_policies: see `evaluate`.

    Returns:
        A group of rollouts and their scores for each task, in order.

    Raises:
        InputError: no task, two tasks with one id, or samples < 1.
        VerifierError: no rollout could be scored; the message is that of the first failure.
    """
    check_tasks(tasks)
    ids = [task.id for task in tasks]
    if not ids or len(set(ids)) != len(ids) or samples < 1:
        raise InputError(f"{len(ids)} tasks with {len(set(ids))} different ids, {samples} samples: nothing to evaluate")
    attempts = [
        Attempt(
            task=task,
            env=env,
            format=format,
            sampling=sampling,
            id=f"evaluate/{seed}/{task.id}/{sample}",
            sample=sample,
            seed=derive_seed("evaluate", seed, task.id, sample),
            context=engine.max_length if context is None else context,
            sibling=sample,
            siblings=samples,
            aux_policies=aux_chats(aux_policies),
        )
        for task in tasks
        for sample in range(samples)
    ]
    engines = {name: one.engine for name, one in aux_policies.items()}
    played = driver.run(
        attempts, rollout, engine, workers=workers, lockstep=lockstep, progress=progress, aux_engines=engines
    )
    check_policy_trajectories(trajectory for attempt in played for trajectory in attempt)
    scored = []
    for index, task in enumerate(tasks):
        trajectories = _flat(played[index * samples : (index + 1) * samples])
        group = Group(task, tuple(one for one in trajectories if one.ending != STOPPED), step=engine.version)
        scored.append(score_group(reward, group))
    _check_scored([group for group, _ in scored])
    return scored


def summarize(
    scored: Sequence[tuple[Group, Scores]],
    *,
    ks: Sequence[int] = (1,),
    breakdown: Sequence[str] = (),
    gauges: Mapping[str, RatioMetric] = NO_GAUGES,
    statistics: Mapping[str, Statistic] = NO_STATISTICS,
    correct_above: float = 0.5,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
    settings: Mapping[str, Any] | None = None,
) -> Evaluation:
    """Make an Evaluation from groups with scores, a group for each task.

    Args:
        scored: groups, and scores with one outcome for each trajectory. Outcomes of trajectories that ended as
            infra_error or verifier_error are ignored.
        ks: k of pass@k and pass^k.
        breakdown: metadata keys; a task without the key is left out of that breakdown.
        gauges, statistics: further figures, by name; see handaxe.core.metrics.
        correct_above: a rollout is correct if its outcome is strictly above this.
        level: of the intervals.
        resamples: of the bootstrap over tasks.
        seed: of the bootstrap.
        settings: stored in the result, JSON.

    Raises:
        InputError: two groups of one task, or another number of outcomes than rollouts.
    """
    tasks = tuple(task_result(group, scores, correct_above=correct_above, gauges=gauges) for group, scores in scored)
    if len({one.id for one in tasks}) != len(tasks):
        raise InputError("two groups have the same task; an evaluation takes all rollouts of a task as one group")
    knobs: dict[str, Any] = {"level": level, "resamples": resamples, "seed": seed}
    figures: dict[str, Any] = {**knobs, "ks": ks, "statistics": statistics}
    by_key = {}
    for key in breakdown:
        values = sorted({str(one.metadata[key]) for one in tasks if key in one.metadata})
        chosen = {v: [one for one in tasks if key in one.metadata and str(one.metadata[key]) == v] for v in values}
        by_key[key] = {value: estimates(part, **figures) for value, part in chosen.items()}
    counts = {kind: sum(one.endings.get(kind, 0) for one in tasks) for kind in ("infra_error", "verifier_error")}
    return Evaluation(
        tasks=tasks,
        metrics=estimates(tasks, **figures),
        endings={name: estimate(column, share=True, **knobs) for name, column in ending_shares(tasks).items()},
        breakdown=by_key,
        excluded=counts,
        settings={"level": level, "ks": list(ks), "correct_above": correct_above, **(settings or {})},
    )


def _flat(played: Sequence[Sequence[Trajectory]]) -> tuple[Trajectory, ...]:
    return tuple(one for trajectories in played for one in trajectories)


def _check_scored(groups: Sequence[Group]) -> None:
    endings = [one.ending for group in groups for one in group]
    if all(ending.kind in ("infra_error", "verifier_error") for ending in endings):
        first = next(iter(endings), None)
        how = f"{first.kind}: {first.reason}" if first else ""
        raise VerifierError(f"none of {len(endings)} rollouts could be scored; the first ended as {how}")
