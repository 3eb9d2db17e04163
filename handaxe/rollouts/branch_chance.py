"""Branching probability from the rise of the policy's entropy."""

from math import log

from handaxe.core.errors import InputError
from handaxe.rollouts.branching import Chance

__all__ = ["branch_chance"]


def branch_chance(
    *, vocabulary: int, base: float = 0.5, weight: float = 0.2, penalty: float = 0.0, above: float | None = None
) -> Chance:
    """Branch with a probability that rises with entropy and falls with consecutive branches.

        dH = (H_k - H_0) / log(vocabulary)        c = max(0, 1 - penalty * l)
        p  = clip(1 - (1 - base) / c + weight * dH, 0, 1)                     0 where c = 0
           = clip(base + weight * dH, 0, 1)                                   without penalty
        p  = 1 if (base + weight * dH) * c > above else 0                     where `above` is given

    p is the probability of (U + weight * dH) * c >= 1 - base for a uniform U.

    Args:
        vocabulary: |V|, number of ids of the policy, >= 2.
        base: probability of a branch at unchanged entropy, in [0, 1]; 0.5 in both papers.
        weight: of the rise; 0.2 in both papers.
        penalty: per consecutive branch on the question, >= 0; 0 in ARPO, 0.05 in AEPO's code.
        above: tau, the deterministic threshold of the papers' formulas; None draws, as the code of both does.

    Returns:
        (H_k - H_0 in nats, l) -> probability, for `branching(chance=...)`.

    Raises:
        InputError: an argument out of range.

    Example:
        penalty 0: dH 0.6 -> 0.62, dH -1 -> 0.3
        penalty 0.05, dH 0.5: l 4 -> 0.475, and U = 0.6 branches; l 6 -> 0.3857, and U = 0.6 does not

    Paper: ARPO, arXiv:2507.19849, P_t = alpha + beta dH_t; AEPO, arXiv:2510.14545, the penalty of consecutive branches.
    Differs: drawn, as in both papers' code, unless `above` is given. AEPO's code has a threshold instead of 1 - base;
    both are equal at 0.5.
    """
    if vocabulary < 2 or not 0 <= base <= 1 or penalty < 0:
        raise InputError(
            f"branch_chance has vocabulary={vocabulary}, base={base} and penalty={penalty}; give 2 ids or more, a "
            "chance in [0, 1] and a penalty of 0 or more"
        )

    def chance(change: float, row: int) -> float:
        rise, kept = weight * change / log(vocabulary), max(0.0, 1 - penalty * row)
        if above is not None:
            return float((base + rise) * kept > above)
        return min(max(1 - (1 - base) / kept + rise, 0.0), 1.0) if kept else 0.0

    return chance
