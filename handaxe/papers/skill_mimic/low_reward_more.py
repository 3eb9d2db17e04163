"""Curriculum that draws tasks and classes of low reward more often."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from handaxe.core.errors import CheckpointError, InputError, TaskError
from handaxe.core.protocols import Curriculum
from handaxe.core.records import RatedGroup, Task
from handaxe.curricula.in_order import in_order
from handaxe.ops.ragged import group_rewards
from handaxe.ops.seeds import generator
from handaxe.papers.skill_mimic.sampler_monitor import SamplerMonitor
from handaxe.papers.skill_mimic.sampling_probabilities import sampling_probabilities

__all__ = ["LowRewardMore", "low_reward_more"]


def low_reward_more(
    *,
    key: str | None,
    alpha: float = 0.5,
    pool: int = 256,
    sharpness: float = 5.0,
    monitor: SamplerMonitor | None = None,
) -> Callable[[list[Task], int], Curriculum]:
    """Make a curriculum that draws tasks by `sampling_probabilities` of their rewards so far.

        r_i  =  mean reward of the first group of task i;   later   r_i  =  (r_i + mean reward of the group) / 2
        tasks of a step  =  draws by P without replacement

    A task without a group has the mean reward of the played tasks of its class, and of all played tasks if the class
    has none; before the first group all rewards are 0. Unscored siblings do not count. A repeated request for a step
    returns the same tasks, and a larger count keeps the first ones.

    Args:
        key: metadata key of the class, such as the first of `World.breakdown`; None: a single class.
        alpha: share of the adaptive part, in [0, 1]; 0 draws uniformly.
        pool: number of tasks, the first ones, so that tasks recur; >= 1.
        sharpness: of the probabilities, > 0.
        monitor: receives the probabilities of each step.

    Returns:
        (tasks, seed) -> curriculum. Its state holds the rewards, so a resumed run continues exactly. A step of more
        tasks than the pool has draws again.

    Raises:
        InputError: a number out of range. TaskError: the list is empty, two tasks share an id, or a task lacks the key.
        CheckpointError: the loaded state belongs to another number of tasks.

    Example:
        two tasks of one class with rewards 0.2 and 0.8, alpha 0.5: the first draw is the first task in 72.6 % of steps

    Paper: arXiv:2505.02094 (SkillMimic-V2), adaptive trajectory sampling.
    Unconfirmed: the running mean at the level of tasks, which the released code has at the level of time steps.
    Differs: draws without replacement; the released code counts a clip without reward as reward 0.
    """
    if not 0 <= alpha <= 1 or not sharpness > 0 or pool < 1:
        raise InputError(
            f"alpha is {alpha}, sharpness {sharpness} and pool {pool}; give 0 to 1, a number above 0, and 1 or more"
        )

    def curriculum(tasks: list[Task], seed: int) -> Curriculum:
        return LowRewardMore(tasks[:pool], seed, key, alpha, sharpness, monitor)

    return curriculum


class LowRewardMore:
    """Curriculum of `low_reward_more`; `reward_N` has the reward of each task, NaN before its first group."""

    def __init__(
        self,
        tasks: Sequence[Task],
        seed: int,
        key: str | None,
        alpha: float,
        sharpness: float,
        monitor: SamplerMonitor | None,
    ):
        in_order(tasks, seed=seed)  # raises for an empty list and for equal ids
        if missing := [task.id for task in tasks if key is not None and key not in task.metadata]:
            raise TaskError(f"task {missing[0]!r} has no metadata {key!r}; name the key of the task's class")
        self.reward_N = np.full(len(tasks), np.nan)
        self._tasks = tuple(tasks)
        self._class_N = ["" if key is None else str(task.metadata[key]) for task in tasks]
        self._place = {task.id: n for n, task in enumerate(tasks)}
        self._seed = seed
        self._alpha = alpha
        self._sharpness = sharpness
        self._monitor = monitor
        self._step = -1
        self._drawn_N = self.probabilities()
        """Probabilities of the present step."""

    def probabilities(self) -> np.ndarray:
        """Return P of all tasks, [N], by the rewards so far."""
        return sampling_probabilities(self._filled(), self._class_N, alpha=self._alpha, sharpness=self._sharpness)

    def next(self, step: int, count: int) -> list[Task]:
        """Return the `count` tasks of a step."""
        if step != self._step:
            self._step = step
            self._drawn_N = self.probabilities()
        if self._monitor is not None:
            self._monitor.note(self._drawn_N)
        drawn: list[Task] = []
        while len(drawn) < count:
            rng = generator("low_reward_more", self._seed, step, len(drawn) // len(self._tasks))
            # An exponential clock of rate P_i per task: the order of the rings is a draw without replacement.
            with np.errstate(divide="ignore"):
                ring_N = rng.exponential(size=len(self._tasks)) / self._drawn_N
            drawn += [self._tasks[n] for n in np.argsort(ring_N, kind="stable")]
        return drawn[:count]

    def observe(self, groups: Sequence[RatedGroup]) -> None:
        """Update the rewards of the played tasks."""
        for one in groups:
            place = self._place.get(one.group.task.id)
            reward_G = group_rewards(one.group, one.scores)
            if place is None or np.isnan(reward_G).all():
                continue
            found = float(np.nanmean(reward_G))
            before = self.reward_N[place]
            self.reward_N[place] = found if np.isnan(before) else (before + found) / 2

    def state_dict(self) -> dict[str, Any]:
        rewards = [None if np.isnan(one) else float(one) for one in self.reward_N]
        return {"rewards": rewards, "step": self._step, "drawn": self._drawn_N.tolist()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        if len(state["rewards"]) != len(self._tasks):
            raise CheckpointError(
                f"the state has {len(state['rewards'])} tasks, this curriculum {len(self._tasks)}; give the same pool"
            )
        self.reward_N = np.array([np.nan if one is None else one for one in state["rewards"]], np.float64)
        self._step = int(state["step"])
        self._drawn_N = np.array(state["drawn"], np.float64)

    def _filled(self) -> np.ndarray:
        """Rewards with estimates for tasks without a group."""
        filled_N = self.reward_N.copy()
        played_N = ~np.isnan(filled_N)
        total = float(filled_N[played_N].mean()) if played_N.any() else 0.0
        for name in dict.fromkeys(self._class_N):
            own_N = np.array([one == name for one in self._class_N])
            mean = float(filled_N[own_N & played_N].mean()) if (own_N & played_N).any() else total
            filled_N[own_N & ~played_N] = mean
        return filled_N
