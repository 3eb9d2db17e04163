"""How well a judge tells in which turn of an attempt a criterion was reached; see `papers.calm.reached`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from handaxe.judges.verdict_token import Ask, just_now
from handaxe.papers.calm.reached import Reach, f1_figures

__all__ = ["transition_f1"]

Chances = Callable[[Sequence[str]], np.ndarray]
"""Questions -> [Q] p of yes to each, such as `VerdictToken.chances`."""


def transition_f1(
    pairs: Sequence[Reach], *, asks: Mapping[str, Ask], chances: Chances, threshold: float = 0.5
) -> dict[str, float]:
    """Ask a judge about every pair, in one way or several.

    Args:
        pairs: of `reaches_of`.
        asks: name of a way -> renders the question, such as {"": about_turn}; what is asked is whether the turn has
            brought the criterion about. At least one.
        chances: answers them.
        threshold: a pair is said to be true where p is above this.

    Returns:
        As `f1_figures`, with the name of the way after each; and gain, the first way's f1 less the last one's.

    Raises:
        InputError: no pair.
    """
    true_K = np.array([one.reached for one in pairs], bool)
    found = dict[str, float]()
    for way, ask in asks.items():
        asked = just_now(ask)
        p_K = chances([asked(one.attempt, one.turn, one.criterion) for one in pairs])
        found |= {f"{name}{way}": value for name, value in f1_figures(true_K, p_K, threshold).items()}
    ways = list(asks)
    return found | {"gain": found[f"f1{ways[0]}"] - found[f"f1{ways[-1]}"]}
