"""Child selection of MCTS*: value plus an upper confidence bound, and a constant for children without a visit."""

from math import log, sqrt

from handaxe.core.errors import InputError
from handaxe.rollouts.search.uct import Select

__all__ = ["value_uct"]


def value_uct(*, c: float = 0.7, unvisited: float = 1.0) -> Select:
    """Make the priority of a child of a tree whose values are means.

        v + c sqrt(2 ln N / n)        n > 0, N: visits of the parent
        v + unvisited                 n = 0

    Args:
        c: weight of the bound, >= 0; 0.7 in the released code.
        unvisited: bonus of a child without a visit; 1 in the released code.

    Returns:
        A Select.

    Raises:
        InputError: c below 0.

    Example:
        v = 0.6, N = 10, n = 4: 0.6 + 0.7 sqrt(2 ln 10 / 4) = 1.3511;  v = 0.7, n = 6: 1.3133;  v = 0.5, n = 0: 1.5

    Paper: arXiv:2406.03816 (ReST-MCTS*), selection, as in its released code.
    Differs: nothing.
    """
    if not c >= 0:
        raise InputError(f"value_uct takes c from 0, not {c}")

    def select(value: float, parent: int, own: int) -> float:
        return value + (c * sqrt(2 * log(max(parent, 1)) / own) if own else unvisited)

    return select
