"""Reward of completed subtasks minus a price of simulated time."""

from __future__ import annotations

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.metrics import RatioMetric
from handaxe.core.protocols import Reward
from handaxe.core.records import Group, Scores, Trajectory
from handaxe.evaluation.benchmarks.scheduling import function_seconds
from handaxe.worlds.world import World

__all__ = ["schedule_reward"]


def schedule_reward(*, world: World, price: float = 0.25) -> Reward:
    """Reward completion and the time of the schedule.

        R = completed subtasks / subtasks - price * elapsed / seconds of the needed calls one after another

    Args:
        world: has the gauges progress (completed subtasks over subtasks) and elapsed (simulated seconds).
        price: reward for the time of the sequential schedule, 0 or more; 0 for completion alone.

    Returns:
        A reward with outcome [G] and the channels "completed" and "time" (elapsed over sequential seconds).

    Raises:
        InputError: price below 0; the world lacks one of the gauges.

    Example:
        a and b before c, with 3, 2 and 1 seconds, price 0.25: one after another 1 - 0.25 * 6 / 6 = 0.75; {a, b}, {c}
        1 - 0.25 * 4 / 6 = 0.833; all at once, c fails: 2 / 3 - 0.25 * 3 / 6 = 0.542

    Paper: arXiv:2511.01527 (TPS-Bench), the pilot with GRPO.
    Unconfirmed: the form and the price.
    Differs: rules and simulated time instead of a judge model and a clock.
    """
    if price < 0:
        raise InputError(f"price is {price}; give 0 or more")
    if not {"progress", "elapsed"} <= set(world.gauges):
        raise InputError(f"world {world.name!r} has no time of calls: choose --world compound_tools")
    progress, elapsed = world.gauges["progress"], world.gauges["elapsed"]

    def reward(group: Group) -> Scores:
        completed = np.array([_value(progress, one) for one in group], dtype=np.float64)
        whole = sum(function_seconds(step["function"]) for step in group.task.metadata["steps"])
        time = np.array([_value(elapsed, one) for one in group], dtype=np.float64) / whole
        return Scores(completed - price * time, channels={"completed": completed, "time": time})

    return reward


def _value(metric: RatioMetric, one: Trajectory) -> float:
    return metric.top(one, 0.0) / metric.bottom(one, 0.0)
