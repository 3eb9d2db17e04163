"""Child selection of x1: normalised value plus an exploration term without a prior."""

from math import log, sqrt

from handaxe.core.errors import InputError
from handaxe.rollouts.search.uct import Select

__all__ = ["blueprint_score"]


def blueprint_score(*, c1: float = 1.25, c2: float = 19652.0, lowest: float = -1.0, highest: float = 1.0) -> Select:
    """Make the selection score of a child.

        (q - lowest) / (highest - lowest) + sqrt(N - 1) / (1 + n) * (c1 + ln((N + c2) / c2))
        N: visits of the parent, 1 or more; n: visits of the child

    Args:
        c1, c2: constants of the exploration term, c1 >= 0 and c2 > 0; 1.25 and 19652 in the released code.
        lowest, highest: range of values, -1 and 1 in the released code.

    Returns:
        A Select.

    Raises:
        InputError: a number out of range.

    Example:
        N = 5: q = 1, n = 3: 1 + 2/4 * 1.2503 = 1.6251;  q = -1, n = 1: 0 + 2/2 * 1.2503 = 1.2503

    Paper: arXiv:2501.11223 (Reasoning Language Models: A Blueprint), selection, as in the released code.
    Differs: nothing.
    """
    if not c1 >= 0 or not c2 > 0 or not highest > lowest:
        raise InputError(
            f"blueprint_score takes c1 from 0, c2 above 0 and lowest below highest, not {c1}, {c2}, {lowest} and "
            f"{highest}"
        )

    def select(value: float, parent: int, own: int) -> float:
        exploration = sqrt(max(parent - 1, 0)) / (1 + own) * (c1 + log((parent + c2) / c2))
        return (value - lowest) / (highest - lowest) + exploration

    return select
