"""A credit followed by transforms."""

from collections.abc import Mapping

from handaxe.core.protocols import Credit, Shaper
from handaxe.core.records import Advantages, Group, Scores
from handaxe.ops.stateful_composite import StatefulComposite

__all__ = ["transformed"]


def transformed(credit: Credit, *shapers: Shaper) -> Credit:
    """Apply transforms to the advantages of a credit, in order.

        transformed(c, f, g)(group, scores) = g(group, f(group, c(group, scores)))

    Args:
        credit: gives the advantages.
        shapers: transforms (Group, Advantages) -> Advantages; without one the credit is unchanged.

    Returns:
        A credit. It is Stateful, with the state of its stateful parts by position.

    Example:
        transformed(constant_baseline(), double) of reward 0.5, where double doubles every token  ->  1

    Idea: a transform that reads no rewards is written once for all credits.
    """
    return _Shaped(credit, shapers)


class _Shaped(StatefulComposite):
    def __init__(self, credit: Credit, shapers: tuple[Shaper, ...]):
        self._credit = credit
        self._shapers = shapers

    def __call__(self, group: Group, scores: Scores) -> Advantages:
        advantages = self._credit(group, scores)
        for shaper in self._shapers:
            advantages = shaper(group, advantages)
        return advantages

    def parts(self) -> Mapping[str, object]:
        return {str(place): part for place, part in enumerate((self._credit, *self._shapers))}
