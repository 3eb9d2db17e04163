"""From tasks to groups: attempts with derived seeds, played by the driver, retried where that is asked for."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from handaxe.errors import InputError, TaskError
from handaxe.ops.seeds import derive_seed
from handaxe.records import EndingKind, Group, Rated, Sampling, Task, Trajectory
from handaxe.rewards.scoring import NEVER_SCORED
from handaxe.rollouts.driver import run
from handaxe.slots import Attempt, ChatFormat, Curriculum, Engine, EnvFactory, Rollout
from handaxe.training.endings import Treatment
from handaxe.training.record_rows import Fate

__all__ = ["Player", "Tried", "draws"]


@dataclass(eq=False)
class Tried:
    """A group on its way through a step.

    group     everything that was generated; superseded attempts included, and also after scoring
    scorable  [G] bool: siblings for the reward to see
    trains    [G] bool: siblings whose tokens may enter the loss
    rated     the scorable siblings with scores and advantages; None until then, or when there is nothing to rate
    fate      "trained" unless something happens to it
    """

    group: Group
    scorable: np.ndarray
    trains: np.ndarray
    rated: Rated | None = None
    fate: Fate = "trained"


def draws(tasks: Curriculum, step: int, *, groups: int, rounds: int) -> Iterator[list[Task]]:
    """The tasks of each generation round of a step, `groups` a round.

    Round r takes the last `groups` of (r + 1) * groups tasks, drawn when it begins: a curriculum that hands out tasks
    in order skips none and repeats none, one that adapts knows what came of the rounds before.

    Raises:
        InputError: when no group or round is asked for.
        TaskError: when there is no task at all.
    """
    if groups < 1 or rounds < 1:
        raise InputError(f"groups is {groups} and rounds {rounds}; give 1 or more of each")
    for r in range(rounds):
        drawn = tasks.next(step, groups * (r + 1))[groups * r :]
        if not drawn and r == 0:
            raise TaskError(f"the curriculum has no task for step {step}: is its data set empty?")
        if drawn:
            yield drawn


@dataclass(frozen=True)
class Player:
    """Plays groups; everything that does not change from step to step."""

    engine: Engine
    format: ChatFormat
    env: EnvFactory
    rollout: Rollout
    sampling: Sampling
    treatment: Mapping[EndingKind, Treatment]
    group_size: int
    retries: int
    workers: int
    seed: int
    progress: Callable[[int, int], None]

    def __post_init__(self) -> None:
        if self.group_size < 1:
            raise InputError(f"group_size is {self.group_size}; give 1 or more attempts a task")

    def __call__(self, step: int, tasks: list[Task], before: list[Tried]) -> list[Tried]:
        """One group a task. `before` holds the step's groups so far: a task that is there, or twice in `tasks`, goes
        on with further samples instead of repeating the same ones."""
        seen = Counter(one.group.task.id for one in before)
        attempts = []
        for task in tasks:
            first = seen[task.id] * self.group_size
            attempts.append([self._attempt(step, task, first + k) for k in range(self.group_size)])
            seen[task.id] += 1
        flat = [attempt for group in attempts for attempt in group]
        results = dict(zip((a.id for a in flat), self._run(flat), strict=True))
        superseded: dict[str, list[Trajectory]] = {attempt.id: [] for attempt in flat}
        for n in range(1, self.retries + 1):
            again = [a for a in flat if any(self._treat(t) == "retry" for t in results[a.id])]
            if not again:
                break
            for attempt in again:
                superseded[attempt.id] += results[attempt.id]
            played = self._run([self._attempt(step, a.task, a.sample, n) for a in again])
            results |= dict(zip((a.id for a in again), played, strict=True))
        return [self._group(step, group, results, superseded) for group in attempts]

    def _attempt(self, step: int, task: Task, sample: int, retry: int = 0) -> Attempt:
        parts: tuple[str | int, ...] = (self.seed, step, task.id, sample)
        return Attempt(
            task=task,
            env=self.env,
            format=self.format,
            sampling=self.sampling,
            id=f"{step}/{task.id}/{sample}" + (f"/retry-{retry}" if retry else ""),
            sample=sample,
            seed=derive_seed(*parts, "retry", retry) if retry else derive_seed(*parts),
            context=self.engine.max_length,
        )

    def _run(self, attempts: list[Attempt]) -> list[list[Trajectory]]:
        def progress(done: int) -> None:
            self.progress(done, len(attempts))

        return run(attempts, self.rollout, self.engine, workers=self.workers, progress=progress)

    def _treat(self, trajectory: Trajectory) -> Treatment:
        return self.treatment[trajectory.ending.kind]

    def _group(
        self,
        step: int,
        attempts: list[Attempt],
        results: Mapping[str, list[Trajectory]],
        superseded: Mapping[str, list[Trajectory]],
    ) -> Tried:
        final = [trajectory for attempt in attempts for trajectory in results[attempt.id]]
        old = [trajectory for attempt in attempts for trajectory in superseded[attempt.id]]
        scorable = [t.ending.kind not in NEVER_SCORED for t in final] + [False] * len(old)
        trains = [self._treat(t) == "score" for t in final] + [False] * len(old)
        group = Group(attempts[0].task, (*final, *old), step)
        dropped = any(self._treat(t) == "drop_group" for t in final)
        return Tried(group, np.array(scorable, bool), np.array(trains, bool), fate="dropped" if dropped else "trained")
