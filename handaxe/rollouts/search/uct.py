"""Child selection of a search tree by upper confidence bound."""

from collections.abc import Callable
from math import log, sqrt

from handaxe.core.errors import InputError

__all__ = ["Select", "uct"]

Select = Callable[[float, int, int], float]
"""(value of a child, visits of its parent, visits of the child) -> priority; the greatest is selected."""


def uct(*, c: float = 1.414) -> Select:
    """Make the upper confidence bound for trees, with one added to both counts.

        value + c sqrt(ln(N + 1) / (n + 1))         N, n: visits of the parent and of the child

    An unvisited child has no absolute priority. In a search for incorrect steps the value's sign is negated (see
    `mcts`), and the bound stays.

    Args:
        c: weight of the bound, >= 0; 1.414 in the paper's code, 1.8 in its driver.

    Returns:
        A Select.

    Raises:
        InputError: c below 0.

    Example:
        value 0.5, N = 10, n = 2: 0.5 + 1.414 sqrt(2.3979 / 3) = 1.7642

    Paper: arXiv:2510.14942 (GroundedPRM), selection.
    Differs: nothing.
    """
    if not c >= 0:
        raise InputError(f"uct takes c from 0, not {c}")
    return lambda value, parent, own: value + c * sqrt(log(parent + 1) / (own + 1))
