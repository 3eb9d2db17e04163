"""Evaluates an engine on the held-out tasks of a world."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from handaxe.core.protocols import AuxPolicy, ChatFormat, Engine, EnvFactory, Rollout
from handaxe.core.records import Sampling, Task
from handaxe.evaluation.result import Evaluation
from handaxe.evaluation.run import evaluate
from handaxe.training.loop.progress import Bar
from handaxe.worlds.world import World

__all__ = ["HeldOut"]


@dataclass(frozen=True, kw_only=True)
class HeldOut:
    """Evaluates an engine by what the world holds for right; `train` calls it as (engine, steps done).

    Args:
        world: says what is right, and what evaluations are broken down by.
        tasks: what is attempted.
        env, format, rollout, sampling: how.
        samples: attempts at each task.
        seed: of the attempts.
        others: engines that may be asked besides, by name.
        progress: called with how many of how many attempts are over.
    """

    world: World
    tasks: list[Task]
    env: EnvFactory
    format: ChatFormat
    rollout: Rollout
    sampling: Sampling
    samples: int = 1
    seed: int = 0
    others: Mapping[str, AuxPolicy] = field(default_factory=dict)
    progress: Callable[[int, int], None] | None = None

    def evaluation(self, engine: Engine) -> Evaluation:
        """The whole evaluation, with intervals."""
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
            by=self.world.by,
            gauges=self.world.gauges,
            statistics=self.world.statistics,
            others=self.others,
            progress=None if tell is None else lambda over: tell(over, total),
        )

    def watched(self, progress: Callable[[int, int], None]) -> HeldOut:
        """The same, telling how far it is."""
        return replace(self, progress=progress)

    def shown(self, engine: Engine, *, enabled: bool = True) -> Evaluation:
        """The whole evaluation, with a bar that shows how far it is."""
        with Bar(len(self.tasks) * self.samples, title="attempt", enabled=enabled) as bar:
            return self.watched(lambda over, total: bar.reach(over)).evaluation(engine)

    def __call__(self, engine: Engine, steps_done: int) -> dict[str, Any]:
        """Flat numbers for metrics, and the whole as JSON text under "evaluation"."""
        found = self.evaluation(engine)
        return {**found.flat(), "evaluation": found.to_json(), "steps": float(steps_done)}
