"""Select nothing away."""

from collections.abc import Sequence

from handaxe.core.protocols import Selector
from handaxe.core.records import RatedGroup

__all__ = ["keep_all"]


def keep_all() -> Selector:
    """Pass every group on as it is.

        select(rated) = rated

    Returns:
        A selector: [RatedGroup] -> [RatedGroup], all of them in order; an empty list gives an empty list.

    Example:
        two groups, one of them with equal rewards  ->  the same two groups

    Idea: the absence of selection, so that a recipe names its choice for every role.
    """

    def select(rated: Sequence[RatedGroup]) -> list[RatedGroup]:
        return list(rated)

    return select
