"""Ratio of a token, a turn or a rollout, by name."""

from __future__ import annotations

from handaxe.losses.parts.components import Ratio
from handaxe.losses.parts.mismatch import Unit, validate_unit
from handaxe.losses.ratios.sequence import sequence
from handaxe.losses.ratios.token import token
from handaxe.losses.ratios.turn import turn

__all__ = ["unit_ratio"]


def unit_ratio(*, unit: Unit = "token", mean: bool = False, clamp: float = 20.0) -> Ratio:
    """Give every token the ratio of its unit: the product of the unit's token ratios, or their geometric mean.

        log_ratio_t = clip(sum_{s in u(t)} (logp_s - old_s), -clamp, clamp)         u(t): trained tokens of t's unit
        log_ratio_t = clip(1/|u(t)| sum_{s in u(t)} (logp_s - old_s), -clamp, clamp)            mean=True: the geometric

    "token" is `token`, "turn" is `turn`, "rollout" is `sequence`; this is one name for the three, to compare them.

    Args:
        unit: token, turn or rollout; the rows of a rollout must then stay in one micro-batch.
        mean: the geometric mean over the unit instead of the product.
        clamp: nats, > 0; a guard against overflow.

    Returns:
        A ratio: (PolicyOut, Batch) -> [B, T] log-ratios, with gradient, 0 at untrained tokens.

    Raises:
        InputError: another unit; by rollout, missing rows.

    Example:
        turns of log-ratios 0.2, 0.4 and -0.1, 0.3  ->  0.2, 0.4, -0.1, 0.3 by token; 0.6, 0.6, 0.2, 0.2 by turn;
        0.8 on each by rollout; with mean=True 0.3, 0.3, 0.1, 0.1 by turn and 0.2 on each by rollout

    Paper: arXiv:2502.01600 (LOOP), which compares the three products and trains with tokens.
    Differs: the clamp.
    """
    validate_unit(unit)
    if unit == "turn":
        return turn(mean=mean, clamp=clamp)
    return sequence(mean=mean, clamp=clamp) if unit == "rollout" else token(clamp=clamp)
