"""Reward weighted by the user's preference for tools, cost and time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from handaxe.core.errors import TaskError
from handaxe.core.protocols import Reward
from handaxe.core.records import Group, Scores, Task, Trajectory
from handaxe.ops.returns import EQUALITY_TOLERANCE
from handaxe.ops.stateful_composite import StatefulComposite
from handaxe.rewards.parts.checks import outcome_only, validate_scores

__all__ = ["OUTCOME", "coordinate_values", "preference_weighted", "read_preference", "rescaled", "task_weights"]

OUTCOME = "outcome"
COST = "cost"
SECONDS = "seconds"


def read_preference(task: Task) -> Any:
    """Preference in the task's metadata, under "preference"."""
    return task.metadata.get("preference")


def preference_weighted(*, base: Reward, preference: Callable[[Task], Mapping[str, float]] = read_preference) -> Reward:
    """Weight a correct rollout by the user's preference over its normalized tool use, cost and time.

        R_i  = base_i * sum_k P_k * m_ik
        m_ik = (M_ik - min_j M_jk) / (max_j M_jk - min_j M_jk);   0 for all if the two are equal up to rounding
        M_i  = ("outcome": base_i, "cost": -cost_i, "seconds": -seconds_i, and for any other name k of P the number of
               well-formed calls of tool k)                   min and max over the scored siblings

    If every sibling is correct, the outcome's coordinate is 0, and tools, cost and time decide.

    Args:
        base: reward of correctness: 1 or 0 in the paper, by a judge. A wrong rollout earns 0.
        preference: task -> P, name -> weight in [0, 1].

    Returns:
        A reward with outcome [G], the base as channel "base", and channels "preferred/NAME" (m_ik, for every name in
        P).

    Raises:
        TaskError: a task without a preference, or with a weight outside [0, 1].
        InputError: a base with per-turn values.

    Example:
        calls of tool t, outcome, cost, seconds (2, 1, 0.10, 30), (0, 1, 0.02, 10), (5, 0, 0.50, 90) and
        P = {t: 0, outcome: 1, cost: 0.5, seconds: 0.5}: m = (0.4, 1, 0.8333, 0.75), (0, 1, 1, 1), (1, 0, 0, 0)
        and R = 1.7917, 2, 0

    Paper: arXiv:2511.21689 (ToolOrchestra), the reward of a trajectory.
    Unconfirmed: min and max over the siblings of a group; over the whole batch it is
        `papers.tool_orchestra.batch_preference`.
    Differs: cost is that of the whole usage. Seconds are those of the tools' replies, which a tool may declare
        (`tools.Billed`), instead of wall time, so that a replay has equal rewards.
    """

    return _Preferred(base, preference)


class _Preferred(StatefulComposite):
    def __init__(self, base: Reward, preference: Callable[[Task], Mapping[str, float]]):
        self._base, self._preference = base, preference

    def __call__(self, group: Group) -> Scores:
        base = outcome_only(validate_scores(self._base(group), group, "base"), "base")
        weights = task_weights(group.task, self._preference)
        compared = {name: _compared(name, group, base.outcome) for name in weights}
        value = sum((weights[name] * compared[name] for name in weights), np.zeros(len(group)))
        channels = {"base": base.outcome, **{f"base/{name}": inner for name, inner in base.channels.items()}}
        channels |= {f"preferred/{name}": own for name, own in compared.items()}
        turns = {f"base/{name}": inner for name, inner in base.turn_channels.items()}
        return Scores(base.outcome * value, channels=channels, turn_channels=turns, eligible=base.eligible)

    def parts(self) -> Mapping[str, object]:
        return {"base": self._base}


def task_weights(task: Task, preference: Callable[[Task], Mapping[str, float]]) -> Mapping[str, float]:
    """Preference of a task.

    Raises:
        TaskError: a task without a preference, or with a weight outside [0, 1].
    """
    found = preference(task)
    if not isinstance(found, Mapping) or not all(_is_weight(weight) for weight in found.values()):
        raise TaskError(f"task {task.id!r} has the preference {found!r}; give a weight in [0, 1] by name")
    return found


def _is_weight(value: Any) -> bool:
    return isinstance(value, int | float) and 0 <= value <= 1


def _compared(name: str, group: Group, outcome: np.ndarray) -> np.ndarray:
    """A coordinate of every sibling, scaled to 0..1."""
    return rescaled(coordinate_values(name, group, outcome))


def coordinate_values(name: str, group: Group, outcome: np.ndarray) -> np.ndarray:
    """A coordinate M of every sibling, [G] float64: outcome, -cost, -seconds, or calls of a tool."""
    return outcome if name == OUTCOME else np.array([_coordinate(name, one) for one in group], dtype=np.float64)


def rescaled(values_N: np.ndarray, scored_N: np.ndarray | None = None) -> np.ndarray:
    """Scale values to 0..1 by minimum and maximum over the scored ones; all 0 if the two are equal up to rounding.

    Example:
        2, 0, 5  ->  0.4, 0, 1
    """
    counted = values_N if scored_N is None else values_N[scored_N]
    if not len(counted):
        return np.zeros(len(values_N))
    least, most = float(counted.min()), float(counted.max())
    if most - least <= EQUALITY_TOLERANCE * max(1.0, abs(least), abs(most)):
        return np.zeros(len(values_N))
    return (values_N - least) / (most - least)


def _coordinate(name: str, one: Trajectory) -> float:
    if name == COST:
        return -one.usage.cost
    if name == SECONDS:
        return -sum(reply.seconds for reply in one.replies)
    return float(sum(call.name == name for call in one.calls))
