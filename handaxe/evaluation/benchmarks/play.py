"""Plays the held-out tasks of a benchmark with a policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from handaxe.core.errors import VerifierError
from handaxe.core.metrics import TaskResult
from handaxe.core.protocols import ChatFormat, Engine
from handaxe.core.records import Sampling, Task
from handaxe.evaluation.benchmarks.benchmark import Benchmark, PartResult
from handaxe.evaluation.benchmarks.fitting import FittingReward
from handaxe.evaluation.evaluate import evaluate
from handaxe.training.loop.progress import Bar
from handaxe.worlds.world import World

__all__ = ["load_parts", "play_benchmark"]


def load_parts(benchmark: Benchmark) -> dict[str, World]:
    """Create the world of every part, without tasks and without a model.

    Raises:
        InputError: a package is missing; the message has the command that installs it.
    """
    return {part.name: part.world() for part in benchmark.parts}


def play_benchmark(
    benchmark: Benchmark,
    *,
    engine: Engine,
    format: ChatFormat,
    served: bool = False,
    tasks: int | None = None,
    trials: int | None = None,
    seed: int = 0,
) -> dict[str, PartResult]:
    """Play every part.

    Args:
        benchmark: the definition.
        engine, format: of the policy.
        served: the engine is a chat server.
        tasks: most tasks of a part, the first in the order of the seed 0; None: all.
        trials: rollouts per task; None: those of the benchmark.
        seed: of the rollouts.

    Returns:
        Results by name of part. Rollouts of tasks that do not fit the policy's context have no score (see `fits`), and
        neither have failures of the infrastructure.

    Raises:
        InputError: a package is missing.
        VerifierError: no rollout of a part has a score, for another reason than the context; such as a chat server
            without an answer.
    """
    worlds = load_parts(benchmark)
    trials = benchmark.trials if trials is None else trials
    found = {part.name: worlds[part.name].tasks("test", part.limit, 0) for part in benchmark.parts}
    chosen = {name: all_tasks[:tasks] for name, all_tasks in found.items()}
    results = {}
    with Bar(trials * sum(len(some) for some in chosen.values()), title="rollout") as bar:
        before = 0
        for part in benchmark.parts:
            some = chosen[part.name]
            world = worlds[part.name]
            reward = FittingReward(world.correct, engine.max_length, benchmark.room, served=served)
            settings: dict[str, Any] = {
                "engine": engine,
                "format": format,
                "env": world.env(world.tools),
                "rollout": world.make_rollout(benchmark.max_turns),
                "gauges": world.gauges,
                "sampling": Sampling(temperature=benchmark.temperature, max_tokens=benchmark.max_tokens),
                "samples": trials,
                "seed": seed,
                "progress": lambda over, before=before: bar.reach(before + over),
            }
            played = _scored(some, reward, settings)
            before += trials * len(some)
            results[part.name] = PartResult(played, len(found[part.name]), len(reward.left_out))
    return results


def _scored(tasks: Sequence[Task], reward: FittingReward, settings: Mapping[str, Any]) -> tuple[TaskResult, ...]:
    """Results of a part; tasks without a score if no task fits the context."""
    try:
        return evaluate(tasks=tasks, reward=reward, **settings).tasks
    except VerifierError:
        if len(reward.left_out) < len(tasks) * settings["samples"]:
            raise
    return tuple(_unscored(task, settings["samples"]) for task in tasks)


def _unscored(task: Task, trials: int) -> TaskResult:
    return TaskResult(
        id=task.id,
        attempts=trials,
        scored=0,
        correct=0,
        reward=0.0,
        calls=0.0,
        tokens=0.0,
        seconds=0.0,
        cost=0.0,
        endings={"verifier_error": trials},
        metadata=dict(task.metadata),
    )
