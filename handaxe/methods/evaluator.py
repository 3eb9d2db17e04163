"""Evaluates an engine on the held-out tasks of a world."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from handaxe.core.protocols import AuxPolicy, ChatFormat, Engine, EnvFactory, Rollout
from handaxe.core.records import Sampling, Task
from handaxe.evaluation.evaluate import evaluate
from handaxe.evaluation.evaluation_result import Evaluation
from handaxe.training.loop.progress import Bar
from handaxe.worlds.world import World

__all__ = ["HeldOutEvaluator"]


@dataclass(frozen=True, kw_only=True)
class HeldOutEvaluator:
    """Evaluates an engine by the correctness rule of a world; `train` calls it as (engine, steps done).

    Args:
        world: supplies the correctness rule and the keys of the breakdown.
        tasks: held-out tasks.
        env, format, rollout, sampling: environment, chat format, rollout strategy and sampling parameters.
        samples: rollouts per task.
        seed: of the rollouts.
        others: auxiliary policies by name.
        progress: called with the number of finished rollouts and the total.
    """

    world: World
    tasks: list[Task]
    env: EnvFactory
    format: ChatFormat
    rollout: Rollout
    sampling: Sampling
    samples: int = 1
    seed: int = 0
    aux_policies: Mapping[str, AuxPolicy] = field(default_factory=dict)
    progress: Callable[[int, int], None] | None = None

    def evaluation(self, engine: Engine) -> Evaluation:
        """Evaluate; the result has intervals."""
        tell, total = self.progress, len(self.tasks) * self.samples
        return evaluate(
            engine=engine,
            env=self.env,
            format=self.format,
            rollout=self.rollout,
            tasks=self.tasks,
            reward=self.world.correct,
            sampling=self.sampling,
            samples=self.samples,
            seed=self.seed,
            breakdown=self.world.breakdown,
            gauges=self.world.gauges,
            statistics=self.world.statistics,
            aux_policies=self.aux_policies,
            progress=None if tell is None else lambda over: tell(over, total),
        )

    def watched(self, progress: Callable[[int, int], None]) -> HeldOutEvaluator:
        """Return a copy with progress reports."""
        return replace(self, progress=progress)

    def evaluation_with_bar(self, engine: Engine, *, enabled: bool = True) -> Evaluation:
        """Evaluate with a progress bar."""
        with Bar(len(self.tasks) * self.samples, title="rollout", enabled=enabled) as bar:
            return self.watched(lambda over, total: bar.reach(over)).evaluation(engine)

    def __call__(self, engine: Engine, steps_done: int) -> dict[str, Any]:
        """Evaluate; returns flat metrics and the full result as JSON text under "evaluation"."""
        found = self.evaluation(engine)
        return {**found.flat(), "evaluation": found.to_json(), "steps": float(steps_done)}
