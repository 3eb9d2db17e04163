"""A credit followed by shapers."""

from collections.abc import Mapping

from handaxe.core.protocols import Credit, Shaper
from handaxe.core.records import Advantages, Group, Scores
from handaxe.ops.composite import Composite

__all__ = ["transformed"]


def transformed(credit: Credit, *shapers: Shaper) -> Credit:
    """Pass what a credit says through shapers, in order.

        transformed(c, f, g)(group, scores) = g(group, f(group, c(group, scores)))

    Args:
        credit: gives the advantages.
        shapers: (Group, Advantages) -> Advantages; none leaves the credit as it is.

    Returns:
        A credit. It is Stateful, and its state is that of its stateful parts by their place.

    Example:
        transformed(constant_baseline(), double) of reward 0.5, where double doubles every token  ->  1

    Idea: what changes advantages without looking at rewards should not have to be written once a credit.
    """
    return _Shaped(credit, shapers)


class _Shaped(Composite):
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
