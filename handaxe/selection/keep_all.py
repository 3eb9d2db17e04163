"""Select nothing away."""

from collections.abc import Sequence

from handaxe.core.protocols import Selector
from handaxe.core.records import Rated

__all__ = ["keep_all"]


def keep_all() -> Selector:
    """Pass every group on as it is.

        select(rated) = rated

    Returns:
        A selector: [Rated] -> [Rated], all of them in order; an empty list gives an empty list.

    Example:
        two groups, one of them with equal rewards  ->  the same two groups

    Idea: the absence of selection, so that a recipe names its choice for every role.
    """

    def select(rated: Sequence[Rated]) -> list[Rated]:
        return list(rated)

    return select
