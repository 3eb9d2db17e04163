"""Back-up of a node's value from its children, weighted by visits."""

from collections.abc import Sequence

from handaxe.core.errors import InputError
from handaxe.rollouts.search.value_tree import ChildBackUp

__all__ = ["visit_mean"]


def visit_mean(*, gamma: float = 1.0, rate: float = 1.0) -> ChildBackUp:
    """Make a back-up towards the mean of the children.

        v <- (1 - rate) v + rate * sum_i n_i gamma v_i / sum_i n_i         n_i: visits of child i; v stays for sum 0

    Args:
        gamma: discount of a turn, 0 to 1; 1 in ReST-MCTS*, 0.96 in x1.
        rate: learning rate of the temporal difference, 0 to 1; 1 in both.

    Returns:
        A ChildBackUp.

    Raises:
        InputError: a number out of range.

    Example:
        children (0.5, 3) and (-1, 1) with gamma 0.96: (3 * 0.48 - 0.96) / 4 = 0.12; with rate 0.5 from v = 0: 0.06

    Paper: arXiv:2501.11223 (Reasoning Language Models: A Blueprint), temporal differences of x1's tree; with gamma 1
    also the back-up of arXiv:2406.03816 (ReST-MCTS*). As in both released codes.
    Differs: nothing.
    """
    if not 0 <= gamma <= 1 or not 0 <= rate <= 1:
        raise InputError(f"visit_mean takes gamma and rate from 0 to 1, not {gamma} and {rate}")

    def back_up(value: float, children: Sequence[tuple[float, int]]) -> float:
        visits = sum(n for _, n in children)
        if not visits:
            return value
        mean = sum(n * gamma * own for own, n in children) / visits
        return (1 - rate) * value + rate * mean

    return back_up
