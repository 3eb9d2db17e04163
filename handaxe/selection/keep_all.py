"""Keep every group."""

from collections.abc import Sequence

from handaxe.core.protocols import Selector
from handaxe.core.records import RatedGroup

__all__ = ["keep_all"]


def keep_all() -> Selector:
    """Return all groups unchanged.

        select(rated) = rated

    Returns:
        A selector: [RatedGroup] -> [RatedGroup], all groups in order; an empty list gives an empty list.

    Example:
        two groups, one with equal rewards  ->  the same two groups

    Idea: the explicit absence of selection, so that a method names its choice for every role.
    """

    def select(rated: Sequence[RatedGroup]) -> list[RatedGroup]:
        return list(rated)

    return select
