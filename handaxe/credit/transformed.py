"""A credit followed by transforms."""

from collections.abc import Mapping

from handaxe.core.protocols import AdvantageTransform, Credit
from handaxe.core.records import Advantages, Group, RatedGroup, Scores
from handaxe.ops.stateful_composite import StatefulComposite

__all__ = ["transformed"]


def transformed(credit: Credit, *transforms: AdvantageTransform) -> Credit:
    """Apply transforms to the advantages of a credit, in order.

        transformed(c, f, g)(group, scores) = advantages of g(f([group, rated by c]))

    Args:
        credit: gives the advantages.
        transforms: each gets one group in which every sibling trains, so that batch statistics are the group's. Without
            one the credit is unchanged.

    Returns:
        A credit. It is Stateful, with the state of its stateful parts by position.

    Example:
        transformed(constant_baseline(), double) of reward 0.5, where double doubles every advantage  ->  1

    Idea: a transform that reads no rewards is written once for all credits.
    """
    return _Transformed(credit, transforms)


class _Transformed(StatefulComposite):
    def __init__(self, credit: Credit, transforms: tuple[AdvantageTransform, ...]):
        self._credit = credit
        self._transforms = transforms

    def __call__(self, group: Group, scores: Scores) -> Advantages:
        rated = RatedGroup.of(group, scores, self._credit(group, scores))
        for transform in self._transforms:
            (rated,) = transform([rated])
        return rated.advantages

    def parts(self) -> Mapping[str, object]:
        return {str(place): part for place, part in enumerate((self._credit, *self._transforms))}
