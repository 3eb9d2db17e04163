"""Reward by the program of a search."""

from collections.abc import Mapping
from typing import Any

from handaxe.core.protocols import Reward
from handaxe.core.records import Group, Scores
from handaxe.ops.stateful_composite import StatefulComposite
from handaxe.rewards.program import program

__all__ = ["SearchedReward"]


class SearchedReward(StatefulComposite):
    """Reward by a program, set by a stage; another reward until then. Checkpoints hold the program's text.

    Args:
        fallback: reward as long as there is no program.

    Example:
        reward = SearchedReward(exact) scores as exact; after reward.text = "..." it scores as program(text="...")
    """

    def __init__(self, fallback: Reward):
        self._fallback = fallback
        self.text = ""

    def __call__(self, group: Group) -> Scores:
        return (program(text=self.text) if self.text else self._fallback)(group)  # type: ignore[return-value]

    def parts(self) -> Mapping[str, object]:
        return {"fallback": self._fallback}

    def state_dict(self) -> dict[str, Any]:
        return {"text": self.text} | super().state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.text = str(state["text"])
        super().load_state_dict(state)
