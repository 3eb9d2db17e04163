"""Plays tasks without training and says what came of them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from handaxe.core.check_tasks import check_tasks
from handaxe.core.errors import InputError, VerifierError
from handaxe.core.metrics import RatioMetric, Statistic
from handaxe.core.protocols import AuxPolicy, ChatFormat, Engine, EnvFactory, Reward, Rollout
from handaxe.core.records import STOPPED, Group, Sampling, Scores, Task, Trajectory
from handaxe.core.requests import Attempt
from handaxe.evaluation.metrics import NO_GAUGES, NO_STATISTICS, ending_shares, estimate, estimates, task_result
from handaxe.evaluation.result import Evaluation
from handaxe.ops.seeds import derive_seed
from handaxe.rewards.parts.scoring import score_group
from handaxe.rollouts import driver
from handaxe.rollouts.driver.executor import Executor
from handaxe.rollouts.driver.others import NO_OTHERS, check_own, voices

__all__ = ["evaluate", "summarise"]


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
    by: Sequence[str] = (),
    gauges: Mapping[str, RatioMetric] = NO_GAUGES,
    statistics: Mapping[str, Statistic] = NO_STATISTICS,
    correct_above: float = 0.5,
    level: float = 0.95,
    progress: Callable[[int], None] | None = None,
    others: Mapping[str, AuxPolicy] = NO_OTHERS,
) -> Evaluation:
    """Attempt every task `samples` times and estimate what matters, each with an interval.

    Args:
        engine: who is evaluated; its weights stay as they are.
        env: made anew for every attempt.
        format: chat format.
        rollout: the strategy.
        tasks: what to attempt; ids must differ.
        reward: what correct means. Give it an answer's correctness, whatever the policy was trained with.
        sampling: the distribution sampled from; temperature 0 makes all samples of a task alike.
        samples: attempts per task.
        seed: attempts are seeded by ("evaluate", seed, task id, sample), apart from every training seed.
        context: most tokens of a sequence; default `engine.max_length`.
        workers: environments that act at the same time, or who carries out what they are asked; the result does not
            depend on it.
        lockstep: the same bits whatever the tools' timing; see `rollouts.driver.Driver`. False: no attempt
            waits for another one's tool; tokens are the same unless rounding tips a draw, log-probs within rounding.
        ks: pass@k and pass^k are estimated for these k; default 1 and `samples`.
        by: metadata keys to break the metrics down by, such as ("difficulty",).
        gauges, statistics: further figures, by name; see handaxe.core.metrics.
        correct_above: an attempt is correct when its outcome is strictly above this.
        level: of the intervals.
        progress: called with the number of attempts that are over.
        others: further engines that rollouts and environments may ask, by name, such as a simulated user.

    Returns:
        An Evaluation. Attempts that ended as infra_error, or that the reward could not decide, are counted there and
        excluded from every metric.

    Raises:
        InputError: no task, two tasks of one id, samples < 1, or a k above `samples`.
        VerifierError: not one attempt could be scored; the message is that of the first failure.
    """
    check_tasks(tasks)
    ids = [task.id for task in tasks]
    if not ids or len(set(ids)) != len(ids) or samples < 1:
        raise InputError(f"{len(ids)} tasks with {len(set(ids))} different ids, {samples} samples: nothing to evaluate")
    if any(k > samples for k in ks):
        raise InputError(f"pass@k for k in {list(ks)} needs at least {max(ks)} samples of a task, not {samples}")
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
            others=voices(others),
        )
        for task in tasks
        for sample in range(samples)
    ]
    engines = {name: one.engine for name, one in others.items()}
    played = driver.run(
        attempts, rollout, engine, workers=workers, lockstep=lockstep, progress=progress, others=engines
    )
    check_own(trajectory for attempt in played for trajectory in attempt)
    scored = []
    for index, task in enumerate(tasks):
        tried = _flat(played[index * samples : (index + 1) * samples])
        group = Group(task, tuple(one for one in tried if one.ending != STOPPED), step=engine.version)
        scored.append(score_group(reward, group))
    _check_scored([group for group, _ in scored])
    settings = {"samples": samples, "seed": seed, "sampling": asdict(sampling), "version": engine.version}
    chosen = tuple(ks) or tuple(sorted({1, samples}))
    return summarise(
        scored,
        ks=chosen,
        by=by,
        gauges=gauges,
        statistics=statistics,
        correct_above=correct_above,
        level=level,
        settings=settings,
    )


def summarise(
    scored: Sequence[tuple[Group, Scores]],
    *,
    ks: Sequence[int] = (1,),
    by: Sequence[str] = (),
    gauges: Mapping[str, RatioMetric] = NO_GAUGES,
    statistics: Mapping[str, Statistic] = NO_STATISTICS,
    correct_above: float = 0.5,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
    settings: Mapping[str, Any] | None = None,
) -> Evaluation:
    """Make an Evaluation of groups that were played and scored already, one group a task.

    Args:
        scored: groups, and scores with one outcome for each trajectory. Outcomes of trajectories that ended as
            infra_error or verifier_error are not looked at.
        ks: pass@k and pass^k are estimated for these k.
        by: metadata keys to break down by; a task without the key is left out of that breakdown.
        gauges, statistics: further figures, by name; see handaxe.core.metrics.
        correct_above: an attempt is correct when its outcome is strictly above this.
        level: of the intervals.
        resamples: of the bootstrap over tasks.
        seed: of the bootstrap.
        settings: kept with the result, JSON.

    Raises:
        InputError: two groups of one task, or a number of outcomes that does not fit.
    """
    tasks = tuple(task_result(group, scores, correct_above=correct_above, gauges=gauges) for group, scores in scored)
    if len({one.id for one in tasks}) != len(tasks):
        raise InputError("two groups are of the same task; an evaluation takes all attempts at a task as one group")
    knobs: dict[str, Any] = {"level": level, "resamples": resamples, "seed": seed}
    figures: dict[str, Any] = {**knobs, "ks": ks, "statistics": statistics}
    breakdown = {}
    for key in by:
        values = sorted({str(one.metadata[key]) for one in tasks if key in one.metadata})
        chosen = {v: [one for one in tasks if key in one.metadata and str(one.metadata[key]) == v] for v in values}
        breakdown[key] = {value: estimates(part, **figures) for value, part in chosen.items()}
    counts = {kind: sum(one.endings.get(kind, 0) for one in tasks) for kind in ("infra_error", "verifier_error")}
    return Evaluation(
        tasks=tasks,
        metrics=estimates(tasks, **figures),
        endings={name: estimate(column, share=True, **knobs) for name, column in ending_shares(tasks).items()},
        breakdown=breakdown,
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
        raise VerifierError(f"not one of {len(endings)} attempts could be scored; the first ended as {how}")
