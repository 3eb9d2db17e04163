"""Bounds advantages."""

from dataclasses import replace

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import AdvantageTransform
from handaxe.core.records import RatedGroup

__all__ = ["clip_advantages"]


def clip_advantages(*, limit: float = 0.2) -> AdvantageTransform:
    """Clip every advantage to a symmetric interval.

        A'_i,t = min(max(A_i,t, -limit), limit)

    at every token; value targets, channels and masks are unchanged.

    Args:
        limit: > 0, in units of the advantage; 0.2 in the paper's agentic configuration.

    Returns:
        An advantage transform: [RatedGroup] -> [RatedGroup], such as for `credit.transformed`. A limit below most
        advantages leaves little but their signs.

    Raises:
        InputError: a limit that is not above 0, or not finite.

    Example:
        limit 0.2: 0.9, 0.1, -0.5  ->  0.2, 0.1, -0.2

    Paper: arXiv:2512.24873 (ROME), the advantage clip of its released configuration.
    Differs: nothing.
    """
    if not 0 < limit < np.inf:
        raise InputError(f"clip_advantages takes a finite limit above 0, not {limit}")

    def clipped(one: RatedGroup) -> RatedGroup:
        tokens = tuple(tuple(np.clip(adv_T, -limit, limit) for adv_T in own) for own in one.advantages.tokens)
        return replace(one, advantages=replace(one.advantages, tokens=tokens))

    return lambda rated: [clipped(one) for one in rated]
