"""Base of all combinators of rewards: components stay separate channels, and all state is kept.

A component named "answer" leaves its outcome in channels["answer"], its own channels in channels["answer/..."], and
its per-turn values in turn_channels["answer"], beside the channels of the merge. The state of the combined reward holds
the state of its components.

Example:
    answer (1, 0), format (1, 1)
    weighted({"answer": (1.0, answer), "format": (0.2, format)})      outcome (1.2, 0.2)
    product({"answer": answer, "format": format})                     outcome (1, 0)
    gate(on=answer, then=format)                                      outcome (1, 0)
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Reward
from handaxe.core.records import Group, Scores
from handaxe.ops.stateful_composite import StatefulComposite
from handaxe.rewards.parts.checks import validate_scores

__all__ = ["Combined", "Merge"]

Merge = Callable[[Group, dict[str, Scores]], Scores]


class Combined(StatefulComposite):
    """Scores every component, merges the scores, and keeps all state."""

    def __init__(self, components: Mapping[str, Reward], merge: Merge, *, keep_channels: bool = True):
        if not components:
            raise InputError("a combined reward needs at least one component")
        self._components = dict(components)
        self._merge = merge
        self._keep_channels = keep_channels

    def __call__(self, group: Group) -> Scores:
        parts = self._ask(group)
        merged = validate_scores(self._merge(group, parts), group, "+".join(parts))
        if not self._keep_channels:
            return merged
        channels: dict[str, np.ndarray] = dict(merged.channels)
        turn_channels: dict[str, tuple[np.ndarray, ...]] = dict(merged.turn_channels)
        eligible = merged.eligible
        for name, part in parts.items():
            channels[name] = part.outcome
            channels |= {f"{name}/{inner}": value for inner, value in part.channels.items()}
            turn_channels |= {} if part.turns is None else {name: part.turns}
            turn_channels |= {f"{name}/{inner}": value for inner, value in part.turn_channels.items()}
            if part.eligible is not None:
                eligible = part.eligible if eligible is None else eligible & part.eligible
        return replace(merged, channels=channels, turn_channels=turn_channels, eligible=eligible)

    def parts(self) -> Mapping[str, object]:
        return self._components

    def _ask(self, group: Group) -> dict[str, Scores]:
        """Scores of each component; a subclass may leave siblings out for a component."""
        return {name: validate_scores(reward(group), group, name) for name, reward in self._components.items()}
