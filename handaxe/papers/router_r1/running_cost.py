"""Rewards what was cheap, compared with what attempts have cost lately."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from handaxe.core.errors import InputError, VerifierError
from handaxe.core.protocols import Reward
from handaxe.core.records import Group, Scores, Trajectory
from handaxe.ops.composite import Composite
from handaxe.rewards.parts.checks import called_with, checked, number, outcome_only

__all__ = ["RunningCost", "running_cost"]


def running_cost(
    *,
    base: Reward | None = None,
    share: float = 0.6,
    cost: Callable[[Trajectory], float] | None = None,
    window: int = 1000,
    low: float = 0.05,
    high: float = 0.95,
    released: bool = False,
) -> "RunningCost":
    """Place an attempt's cost between the quantiles of the costs of late: 1 for the cheap, 0 for the dear.

        x_i = sqrt(cost_i);   W: the last `window` values of x, those of this group among them
        lo, hi = quantiles `low` and `high` of W, linear between its values
        c_i = 1 - clip((x_i - lo) / (hi - lo), 0, 1);   0.5 where hi - lo < 1e-8
        R_i = c_i                                                  without a base
        R_i = (1 - share) * base_i + share * c_i   where base_i > 0, else base_i      with one

    All costs of a group enter W before any is judged, smallest first, so that no sibling's reward depends on its
    place. Wrong attempts enter it too.

    Args:
        base: what a right answer earns, 0 or less for a wrong one, which then earns no more by being cheap.
        share: a, of the cost in the reward of a right answer, 0 or more and below 1, so that a right answer earns more
            than a wrong one however dear it is; it counts with a base only. The released default is 0.
        cost: of an attempt, >= 0, in any unit; None for all that it used up. There, completion tokens times price.
        window: values remembered; 1000 in the released code.
        low: lower quantile; 0.05 there.
        high: upper quantile; 0.95 there.
        released: judge siblings one by one, each after its own cost has entered W, as the released code does: what a
            sibling earns then depends on its place among them.

    Returns:
        A stateful reward with outcome [G], and with a base the channels "base" and "cost" (c_i). It remembers W.

    Raises:
        InputError: a share outside [0, 1), quantiles out of order, a window below 1, or a base with per-turn values.
        VerifierError: naming the trajectory, for a cost that is negative or not finite.

    Example:
        W is 0, 10, 30 and an attempt of cost 400 (x = 20) comes: quantiles 1.5 and 28.5, c = 1 - 18.5 / 27 = 0.3148;
        right (base 1) with a share of 0.6: 0.4 + 0.1889 = 0.5889; wrong: 0. Equal costs alone: 0.5.

    Paper: arXiv:2506.09033 (Router-R1), the cost reward as released.
    Unconfirmed: that the paper's own shares go up to 0.9.
    Differs: siblings enter together. `released=True` is the released order.
    """
    if not 0 <= share < 1 or not 0 <= low < high <= 1 or window < 1:
        raise InputError(
            f"running_cost has share={share}, low={low}, high={high} and window={window}; give a share in [0, 1), "
            "quantiles in order within [0, 1], and a window of 1 or more"
        )
    return RunningCost(base, share, cost or _used, window, (low, high), released)


class RunningCost(Composite):
    """The reward that `running_cost` describes; `seen` holds the square roots of the costs of late, oldest first."""

    def __init__(
        self,
        base: Reward | None,
        share: float,
        cost: Callable[[Trajectory], float],
        window: int,
        quantiles: tuple[float, float],
        released: bool,
    ):
        self.seen: list[float] = []
        self._base = base
        self._share = share
        self._cost = cost
        self._window = window
        self._quantiles = quantiles
        self._released = released

    def __call__(self, group: Group) -> Scores:
        base = None if self._base is None else outcome_only(checked(self._base(group), group, "base"), "base")
        roots = [_root(self._cost, one) for one in group]
        if self._released:
            cheap = np.array([self._placed([root], root) for root in roots])
        else:
            self._placed(sorted(roots))
            cheap = np.array([self._placed([], root) for root in roots])
        if base is None:
            return Scores(cheap)
        earned = np.where(base.outcome > 0, (1 - self._share) * base.outcome + self._share * cheap, base.outcome)
        inner = {f"base/{name}": value for name, value in base.channels.items()}
        turns = {f"base/{name}": value for name, value in base.turn_channels.items()}
        channels = {"base": base.outcome, "cost": cheap} | inner
        return Scores(earned, channels=channels, turn_channels=turns, eligible=base.eligible)

    def _placed(self, new: list[float], root: float = 0.0) -> float:
        """Where a cost lies in the window, after new ones have entered it."""
        self.seen = [*self.seen, *new][-self._window :]
        low, high = np.quantile(self.seen, self._quantiles)
        return 0.5 if high - low < 1e-8 else float(1 - np.clip((root - low) / (high - low), 0.0, 1.0))

    def parts(self) -> Mapping[str, object]:
        return {"base": self._base}

    def state_dict(self) -> dict[str, Any]:
        return {"seen": list(self.seen)} | super().state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.seen = [float(value) for value in state["seen"]]
        super().load_state_dict(state)


def _used(trajectory: Trajectory) -> float:
    return trajectory.used.cost


def _root(cost: Callable[[Trajectory], float], trajectory: Trajectory) -> float:
    value = number(called_with(cost, trajectory), trajectory)
    if value < 0:
        raise VerifierError(
            f"trajectory {trajectory.id!r} has the cost {value}; give 0 or more", trajectory=trajectory.id
        )
    return float(np.sqrt(value))
