"""How well a judge tells in which turn of an attempt a criterion was reached; see `ops.reached`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from handaxe.judges.verdict_token import Ask
from handaxe.ops.reached import Reach, f1_figures

__all__ = ["transition_f1"]

Chances = Callable[[Sequence[str]], np.ndarray]
"""Questions -> [Q] p of yes to each, such as `VerdictToken.chances`."""


def transition_f1(pairs: Sequence[Reach], *, ask: Ask, chances: Chances, threshold: float = 0.5) -> dict[str, float]:
    """Ask a judge about every pair.

    Args:
        pairs: of `reaches_of`.
        ask: renders the question about one, such as `just_now(about_turn)`.
        chances: answers them.
        threshold: a pair is said to be true where p is above this.

    Returns:
        As `f1_figures`.

    Raises:
        InputError: no pair.
    """
    p_K = chances([ask(one.attempt, one.turn, one.criterion) for one in pairs])
    return f1_figures(np.array([one.reached for one in pairs], bool), p_K, threshold)
