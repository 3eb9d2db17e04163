"""Store of the teacher's snapshots: filled by a stage, drawn from by the curriculum, read by the rollout strategy."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Stage, StageContext
from handaxe.core.records import Group, RatedGroup, Task, Trajectory
from handaxe.core.requests import Attempt
from handaxe.ops.seeds import generator
from handaxe.papers.snapshot_rl.snapshots import Snapshot, best_snapshots
from handaxe.papers.snapshot_rl.status_classes import draw_snapshot, status_classes
from handaxe.training.sft.cold_start import demonstrations
from handaxe.worlds.world import World

__all__ = ["SnapshotStore"]

KEPT_STEPS = 64
"""Steps whose draws are remembered; more than are ever in flight."""
TRIES = 1000
"""Draws for a task that the step does not have yet."""


class _Drawn(NamedTuple):
    """Start of a group: numbers of class and snapshot."""

    number: int
    snapshot: int


class SnapshotStore:
    """Snapshots of the world's expert in classes of value, with the draws of each step.

    The stage plays the expert once per training task, keeps the best rollouts, and classifies their snapshots. A step
    draws a class uniformly, then a snapshot of the class uniformly, once per group; all siblings start there. A
    snapshot of a task that the step has already is drawn again, up to TRIES times.

    Args:
        world: provides expert, tasks and the correctness rule.
        clusters: classes of `status_classes`, >= 1.
        episodes: rollouts of the teacher, >= 1; each has another task.
        best: rollouts that give snapshots, 1 to `episodes`.

    Metrics of the stage: episodes, solved (share of the episodes with reward), snapshots, classes, largest (share of
    the largest class). Metrics as a learner: from_snapshot (share of rollouts that began at a snapshot), classes (drawn
    in the step) and elapsed (mean turns before the start), both only in steps with draws.

    Raises:
        InputError: a number out of range; the world has no expert; a draw before the stage.

    Example:
        classes of 10 and of 2 snapshots: half of the groups start in the second class

    Paper: arXiv:2403.00673 (SnapshotRL), reset of the student to a snapshot of the teacher.
    Differs: a state is reached by replaying the recorded turns, which the policy reads as its own; the paper copies the
    environment. Siblings share a start. The teacher is the world's expert, whose initial states are the training tasks.
    """

    def __init__(self, *, world: World, clusters: int, episodes: int, best: int):
        if not 1 <= best <= episodes or clusters < 1:
            raise InputError(
                f"best {best} of {episodes} episodes, {clusters} clusters: give 1 <= best <= episodes, 1 up"
            )
        world.need("expert")
        self.snapshots: list[Snapshot] = []
        self.classes: tuple[np.ndarray, ...] = ()
        self._world = world
        self._clusters = clusters
        self._episodes = episodes
        self._best = best
        self._drawn: dict[int, dict[str, _Drawn]] = {}

    @property
    def stage(self) -> Stage:
        """The stage that fills the store. A resumed run plays the same episodes again."""

        def snapshot_store(site: StageContext) -> list[dict[str, float]]:
            world = self._world
            tasks = world.tasks("train", self._episodes, site.seed)
            played = demonstrations(
                world, site.env, tasks, count=len(tasks), seed=site.seed, format=site.format, context=1 << 20
            )
            return [{"step": 0.0, **self.fill(played)}]

        return snapshot_store

    def fill(self, episodes: Sequence[Trajectory]) -> dict[str, float]:
        """Replace the snapshots by the best snapshots of the episodes; returns the metrics of the stage."""
        reward_N = np.array([_reward(self._world, one) for one in episodes], np.float64)
        self.snapshots = best_snapshots(episodes, reward_N, best=self._best)
        self.classes = status_classes(np.array([one.value for one in self.snapshots]), clusters=self._clusters)
        self._drawn.clear()
        return {
            "episodes": float(len(episodes)),
            "solved": float((reward_N > 0).mean()),
            "snapshots": float(len(self.snapshots)),
            "classes": float(len(self.classes)),
            "largest": len(self.classes[0]) / len(self.snapshots),
        }

    def draw(self, step: int, count: int, *, seed: int) -> list[Task]:
        """Draw the starts of a step; returns their tasks. A repeated draw of a step gives the same tasks."""
        if not self.classes:
            raise InputError("there is no snapshot yet: run the stage of the store before the training loop")
        drawn = self._drawn.setdefault(step, {})
        tasks: dict[str, Task] = {}
        rng = generator("snapshot start", seed, step)
        for _ in range(TRIES * count):
            if len(tasks) == count:
                break
            found = _Drawn(*draw_snapshot(self.classes, rng))
            task = self.snapshots[found.snapshot].trajectory.task
            if task.id not in tasks:
                tasks[task.id] = task
                drawn.setdefault(task.id, found)
        else:
            raise InputError(f"the snapshots have {len(tasks)} tasks, and a step {count}: raise `best` and `episodes`")
        while len(self._drawn) > KEPT_STEPS:
            del self._drawn[next(iter(self._drawn))]
        return list(tasks.values())

    def start(self, attempt: Attempt) -> tuple[Trajectory, int] | None:
        """Recorded rollout and turn at which an attempt starts; None for a task that the step did not draw."""
        found = self._drawn.get(attempt.step, {}).get(attempt.task.id)
        if found is None:
            return None
        snapshot = self.snapshots[found.snapshot]
        return snapshot.trajectory, snapshot.turn

    def learn(self, groups: Sequence[RatedGroup], *, step: int) -> Mapping[str, float]:
        """Report the starts of the step; nothing is learned."""
        del step
        began = [float(one.branch_of is not None) for rated in groups for one in rated.group]
        drawn = [self._drawn.get(rated.group.step, {}).get(rated.group.task.id) for rated in groups]
        known = [one for one in drawn if one is not None]
        figures = {"from_snapshot": float(np.mean(began)) if began else 0.0}
        if known:
            figures["classes"] = float(len({one.number for one in known}))
            figures["elapsed"] = float(np.mean([self.snapshots[one.snapshot].turn for one in known]))
        return figures

    def state_dict(self) -> dict[str, Any]:
        """Draws of the steps; the stage restores the snapshots."""
        return {"drawn": [[step, {name: list(one) for name, one in own.items()}] for step, own in self._drawn.items()]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore the draws."""
        self._drawn = {
            int(step): {name: _Drawn(int(one[0]), int(one[1])) for name, one in own.items()}
            for step, own in state["drawn"]
        }


def _reward(world: World, one: Trajectory) -> float:
    """Reward of the correctness rule; NaN for an unscored rollout."""
    return float(world.correct(Group(one.task, (one,))).outcome[0])
