"""Back-up value of a simulation, from the verdicts on its steps and its outcome."""

from collections.abc import Callable, Sequence

from handaxe.core.errors import InputError

__all__ = ["BackUp", "verdict_backup"]

BackUp = Callable[[Sequence[float], float, int], list[float]]
"""(verdicts on the steps between the node and the last one, F, ancestors) -> increments of the value of the node, of
its parent, and so on up to the root: 1 + ancestors numbers.
"""


def verdict_backup(*, decay: float = 0.9) -> BackUp:
    """Make a back-up that mixes the verdicts on simulated steps with the outcome.

        V = (1 / N) (sum_{i = 0}^{N - 1} v_{i+1} (N - i) / N + F)          N = 0: V = F
        the node the simulation began at += V, its ancestor at distance d += decay^d V

    v_1 ... v_N are verdicts in {-1, 1} (0: neither) on the steps after that node and before the last one; F in {-1, 1}
    is 1 for a correct end. Earlier verdicts weigh more.

    Args:
        decay: per generation, 0 to 1; 0.9 in the paper.

    Returns:
        A BackUp.

    Raises:
        InputError: decay out of range.

    Example:
        v = 1, -1 and F = 1, two ancestors: V = 0.5 (1 - 0.5 + 1) = 0.75, then 0.675 and 0.6075; no v and F = -1: -1

    Paper: arXiv:2510.14942 (GroundedPRM), as in its released code.
    Differs: nothing.
    """
    if not 0 <= decay <= 1:
        raise InputError(f"verdict_backup takes a decay from 0 to 1, not {decay}")

    def back_up(verdicts: Sequence[float], final: float, ancestors: int) -> list[float]:
        n = len(verdicts)
        said = sum(v * (n - i) / n for i, v in enumerate(verdicts))
        worth = (said + final) / max(n, 1)
        return [worth * decay**d for d in range(ancestors + 1)]

    return back_up
