"""Reward for low cost, relative to recent rollouts."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from handaxe.core.errors import InputError, VerifierError
from handaxe.core.protocols import Reward
from handaxe.core.records import Group, Scores, Trajectory
from handaxe.ops.stateful_composite import StatefulComposite
from handaxe.rewards.parts.checks import call_score, finite_number, outcome_only, validate_scores

__all__ = ["RunningCost", "running_cost"]


def running_cost(
    *,
    base: Reward | None = None,
    share: float = 0.6,
    cost: Callable[[Trajectory], float] | None = None,
    window: int = 1000,
    low: float = 0.05,
    high: float = 0.95,
) -> "RunningCost":
    """Place a rollout's cost between quantiles of recent costs: 1 for cheap, 0 for expensive.

        x_i = sqrt(cost_i);   W: the last `window` values of x, including this group's
        lo, hi = quantiles `low` and `high` of W, linear between its values
        c_i = 1 - clip((x_i - lo) / (hi - lo), 0, 1);   0.5 if hi - lo < 1e-8
        R_i = c_i                                                  without a base
        R_i = (1 - share) * base_i + share * c_i   if base_i > 0, else base_i        with a base

    All costs of a group enter W before any is scored, smallest first, so that no reward depends on the order of
    siblings. Costs of wrong rollouts enter W, too.

    Args:
        base: reward of the answer, 0 or less for a wrong one, which then earns nothing by low cost.
        share: a, share of the cost in the reward of a correct answer, in [0, 1), so that a correct answer always earns
            more than a wrong one; used only with a base. The released default is 0.
        cost: trajectory -> cost >= 0, in any unit; None: the cost of its usage. The released code takes completion
            tokens times price.
        window: number of stored values; 1000 in the released code.
        low: lower quantile; 0.05 in the released code.
        high: upper quantile; 0.95 in the released code.

    Returns:
        A stateful reward with outcome [G], and with a base the channels "base" and "cost" (c_i). Its state is W.

    Raises:
        InputError: a share outside [0, 1), quantiles out of order, a window below 1, or a base with per-turn values.
        VerifierError: a negative or infinite cost; the error names the trajectory.

    Example:
        W is 0, 10, 30 and a rollout of cost 400 (x = 20) follows: quantiles 1.5 and 28.5, c = 1 - 18.5 / 27 = 0.3148;
        correct (base 1) with a share of 0.6: 0.4 + 0.1889 = 0.5889; wrong: 0. Equal costs alone: 0.5.

    Paper: arXiv:2506.09033 (Router-R1), the cost reward of its released code.
    Unconfirmed: the paper's shares up to 0.9.
    Differs: the costs of siblings enter together; the released code scores each sibling after its own cost has entered
    W.
    """
    if not 0 <= share < 1 or not 0 <= low < high <= 1 or window < 1:
        raise InputError(
            f"running_cost has share={share}, low={low}, high={high} and window={window}; give a share in [0, 1), "
            "quantiles in order within [0, 1], and a window of 1 or more"
        )
    return RunningCost(base, share, cost or _used, window, (low, high))


class RunningCost(StatefulComposite):
    """Reward of `running_cost`; `seen` holds the square roots of recent costs, oldest first."""

    def __init__(
        self,
        base: Reward | None,
        share: float,
        cost: Callable[[Trajectory], float],
        window: int,
        quantiles: tuple[float, float],
    ):
        self.seen: list[float] = []
        self._base = base
        self._share = share
        self._cost = cost
        self._window = window
        self._quantiles = quantiles

    def __call__(self, group: Group) -> Scores:
        base = None if self._base is None else outcome_only(validate_scores(self._base(group), group, "base"), "base")
        roots = [_root(self._cost, one) for one in group]
        self.seen = [*self.seen, *sorted(roots)][-self._window :]
        cheap = np.array([self._placed(root) for root in roots])
        if base is None:
            return Scores(cheap)
        earned = np.where(base.outcome > 0, (1 - self._share) * base.outcome + self._share * cheap, base.outcome)
        inner = {f"base/{name}": value for name, value in base.channels.items()}
        turns = {f"base/{name}": value for name, value in base.turn_channels.items()}
        channels = {"base": base.outcome, "cost": cheap} | inner
        return Scores(earned, channels=channels, turn_channels=turns, eligible=base.eligible)

    def _placed(self, root: float) -> float:
        """Position of a cost in the window: 1 for cheap, 0 for expensive."""
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
    return trajectory.usage.cost


def _root(cost: Callable[[Trajectory], float], trajectory: Trajectory) -> float:
    value = finite_number(call_score(cost, trajectory), trajectory)
    if value < 0:
        raise VerifierError(
            f"trajectory {trajectory.id!r} has the cost {value}; give 0 or more", trajectory=trajectory.id
        )
    return float(np.sqrt(value))
