"""Learner for metrics: temperatures and thresholds chosen by the rounds of a self-taught run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from handaxe.core.records import RatedGroup

__all__ = ["BalanceMonitor"]


class BalanceMonitor:
    """Learner without updates that reports the pairs chosen by `balanced_sampling(monitor=...)`.

        rounds        rounds so far
        temperatures  number of different temperatures among them
        thresholds    number of different thresholds among them
        temperature, threshold, balance  of the last round: the pair, and its balance score

    Metrics are learner/balance_monitor/NAME, none before the first round.

    Example:
        chosen (0.75, 0.5) and (0.75, 1.1): rounds 2, temperatures 1, thresholds 2, threshold 1.1

    Idea: a grid with one constant choice does not act.
    """

    def __init__(self) -> None:
        self._chosen: list[tuple[float, float, float]] = []

    def note(self, temperature: float, threshold: float, balance: float) -> None:
        """Add the pair of a round, with its balance score."""
        self._chosen.append((temperature, threshold, balance))

    def learn(self, groups: Sequence[RatedGroup], *, step: int) -> Mapping[str, float]:
        """Report the choices; nothing is learned."""
        del groups, step
        if not self._chosen:
            return {}
        temperatures, thresholds, balances = zip(*self._chosen, strict=True)
        return {
            "rounds": float(len(self._chosen)),
            "temperatures": float(len(set(temperatures))),
            "thresholds": float(len(set(thresholds))),
            "temperature": temperatures[-1],
            "threshold": thresholds[-1],
            "balance": balances[-1],
        }

    def state_dict(self) -> dict[str, Any]:
        return {"chosen": [list(one) for one in self._chosen]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._chosen = [(float(heat), float(limit), float(score)) for heat, limit, score in state["chosen"]]
