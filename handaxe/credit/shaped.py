"""A credit followed by shapers."""

from typing import Any

from handaxe.records import Advantages, Group, Scores
from handaxe.slots import Credit, Shaper, Stateful

__all__ = ["shaped"]


def shaped(credit: Credit, *shapers: Shaper) -> Credit:
    """Pass what a credit says through shapers, in order.

        shaped(c, f, g)(group, scores) = g(group, f(group, c(group, scores)))

    Args:
        credit: gives the advantages.
        shapers: (Group, Advantages) -> Advantages; none leaves the credit as it is.

    Returns:
        A credit. It is Stateful, and its state is that of its stateful parts by their place.

    Example:
        shaped(constant_baseline(), double) of reward 0.5, where double doubles every token  ->  1

    Idea: what changes advantages without looking at rewards should not have to be written once a credit.
    """
    return _Shaped(credit, shapers)


class _Shaped:
    def __init__(self, credit: Credit, shapers: tuple[Shaper, ...]):
        self._credit = credit
        self._shapers = shapers

    def __call__(self, group: Group, scores: Scores) -> Advantages:
        advantages = self._credit(group, scores)
        for shaper in self._shapers:
            advantages = shaper(group, advantages)
        return advantages

    def state_dict(self) -> dict[str, Any]:
        return {place: part.state_dict() for place, part in self._stateful().items()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        for place, part in self._stateful().items():
            part.load_state_dict(state[place])

    def _stateful(self) -> dict[str, Stateful]:
        found: dict[str, Stateful] = {}
        for place, part in enumerate((self._credit, *self._shapers)):
            if isinstance(part, Stateful):
                found[str(place)] = part
        return found
