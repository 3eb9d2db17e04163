"""How much likelier the policy finds a token, a turn or a whole answer."""

from __future__ import annotations

from handaxe.losses.parts.disagreement import Unit, check_unit
from handaxe.losses.parts.pieces import Ratio
from handaxe.losses.ratios.sequence import sequence
from handaxe.losses.ratios.token import token
from handaxe.losses.ratios.turn import turn

__all__ = ["by_unit"]


def by_unit(*, unit: Unit = "token", mean: bool = False, clamp: float = 20.0) -> Ratio:
    """Give every token the ratio of the unit that it belongs to: the product of the unit's token ratios, or their mean.

        log_ratio_t = clip(sum_{s in u(t)} (logp_s - old_s), -clamp, clamp)         u(t): trained tokens of t's unit
        log_ratio_t = clip(1/|u(t)| sum_{s in u(t)} (logp_s - old_s), -clamp, clamp)            mean=True: the geometric

    "token" is `token`, "turn" is `turn`, "rollout" is `sequence`; this is one name for the three, to compare them by.

    Args:
        unit: what is clipped as one; a rollout's rows must then stay in one micro-batch.
        mean: the geometric mean over the unit instead of the product.
        clamp: nats, > 0; a guard against overflow.

    Returns:
        A ratio: (PolicyOut, Batch) -> [B, T] log-ratios, with gradient, 0 at tokens that do not train.

    Raises:
        InputError: another unit; when asked by rollout, rows that are not here.

    Example:
        turns of log-ratios 0.2, 0.4 and -0.1, 0.3  ->  0.2, 0.4, -0.1, 0.3 by token; 0.6, 0.6, 0.2, 0.2 by turn;
        0.8 on each by rollout; with mean=True 0.3, 0.3, 0.1, 0.1 by turn and 0.2 on each by rollout

    Paper: arXiv:2502.01600 (LOOP), which compares the three products and trains with tokens.
    Differs: the clamp.
    """
    check_unit(unit)
    if unit == "turn":
        return turn(mean=mean, clamp=clamp)
    return sequence(mean=mean, clamp=clamp) if unit == "rollout" else token(clamp=clamp)
