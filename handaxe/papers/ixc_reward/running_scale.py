"""Scales a reward by its running mean and standard deviation."""

from __future__ import annotations

from typing import Any

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Reward
from handaxe.core.records import Group, Scores

__all__ = ["RunningScale", "running_scale"]


def running_scale(*, reward: Reward, least: float = 1e-3) -> RunningScale:
    """Normalize a reward by the mean and standard deviation of all outcomes so far, those of the group included.

        R_i = (r_i - mean) / max(std, least)

    Args:
        reward: such as `judged`.
        least: least standard deviation, > 0.

    Returns:
        A reward with state: number, mean and sum of squared deviations of the outcomes. Unscored rollouts (NaN) stay
        unscored and do not count. The channel "raw" has the outcome of `reward`.

    Raises:
        InputError: `least` of 0 or below.

    Example:
        outcomes 1 and 3: mean 2, standard deviation 1, rewards -1 and 1; then 5 and 7: mean 4, sqrt(5), rewards 1 /
        2.2361 and 3 / 2.2361

    Paper: IXC-2.5-Reward, a reward normalized by running statistics.
    Unconfirmed: only that there are running statistics; the form is that of Welford's sums.
    Differs: nothing known.
    """
    if not least > 0:
        raise InputError(f"least is {least}; give a standard deviation above 0")
    return RunningScale(reward, least)


class RunningScale:
    """See `running_scale`."""

    def __init__(self, reward: Reward, least: float):
        self._reward = reward
        self._least = least
        self._count = 0
        self._mean = 0.0
        self._squares = 0.0

    def __call__(self, group: Group) -> Scores:
        """Score a group, and count its outcomes."""
        found = self._reward(group)
        raw_G = np.asarray(found.outcome, np.float64)
        for value in raw_G[~np.isnan(raw_G)].tolist():
            self._count += 1
            before = value - self._mean
            self._mean += before / self._count
            self._squares += before * (value - self._mean)
        std = (self._squares / max(self._count, 1)) ** 0.5
        scaled_G = (raw_G - self._mean) / max(std, self._least)
        return Scores(scaled_G, channels={**found.channels, "raw": raw_G}, eligible=found.eligible)

    def state_dict(self) -> dict[str, Any]:
        return {"count": self._count, "mean": self._mean, "squares": self._squares}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._count = int(state["count"])
        self._mean = float(state["mean"])
        self._squares = float(state["squares"])
