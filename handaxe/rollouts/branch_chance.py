"""Says how probable a branch is where the policy has become less sure of itself."""

from math import log

from handaxe.core.errors import InputError
from handaxe.rollouts.branching import Chance

__all__ = ["branch_chance"]


def branch_chance(
    *, vocabulary: int, base: float = 0.5, weight: float = 0.2, penalty: float = 0.0, above: float | None = None
) -> Chance:
    """Branch the more probably the more the entropy has risen, and the less the more branches were made in a row.

        dH = (H_k - H_0) / log(vocabulary)        c = max(0, 1 - penalty * l)
        p  = clip(1 - (1 - base) / c + weight * dH, 0, 1)                     0 where c = 0
           = clip(base + weight * dH, 0, 1)                                   without penalty
        p  = 1 if (base + weight * dH) * c > above else 0                     where `above` is given

    That is the chance that (U + weight * dH) * c >= 1 - base for a uniform U.

    Args:
        vocabulary: |V|, how many ids the policy can say, >= 2.
        base: chance of a branch where the entropy is as at first, in [0, 1]; 0.5 in both papers.
        weight: of the rise; 0.2 in both papers.
        penalty: of each branch made in a row on the question, >= 0; 0 in ARPO, 0.05 in AEPO's code.
        above: tau, the threshold of the papers' formulas, which draw nothing; None draws, as the code of both does.

    Returns:
        (H_k - H_0 in nats, l) -> probability, for `branching(chance=...)`.

    Raises:
        InputError: an argument out of range.

    Example:
        penalty 0: dH 0.6 -> 0.62, dH -1 -> 0.3
        penalty 0.05, dH 0.5: l 4 -> 0.475, and U = 0.6 branches; l 6 -> 0.3857, and U = 0.6 does not

    Paper: ARPO, arXiv:2507.19849, P_t = alpha + beta dH_t; AEPO, arXiv:2510.14545, the penalty of consecutive branches.
    Differs: drawn, as both papers' code does, unless `above` is given. AEPO's code has a threshold in the place of
    1 - base, which is the same number at 0.5.
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
