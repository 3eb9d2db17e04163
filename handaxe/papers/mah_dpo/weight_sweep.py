"""Figures of a sweep over the weights of two heads, beside one head and the policy before training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from handaxe.papers.mah_dpo.head_training import HeadPair
from handaxe.papers.mah_dpo.objective_pairs import OBJECTIVES

__all__ = ["SHARES", "SweepArm", "head_sweep_figures"]

SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Weights of head 0 in the sweep; head 1 has the rest."""
SPANS = ((0.0, 0.5), (0.5, 1.0), (0.0, 1.0))
"""Further differences of the sweep."""


class SweepArm(NamedTuple):
    """Share of correct rollouts of an arm, and mean tokens of a rollout."""

    correct: float
    tokens: float


def head_sweep_figures(
    found: Mapping[str, SweepArm], pairs: Sequence[HeadPair], steps: Sequence[Mapping[str, float]]
) -> dict[str, float]:
    """Compare the arms of a draw: every weight of `SHARES`, "single" (one head) and "start" (before training).

    Args:
        found: arm -> result; the arm of a weight is the weight, such as "0.25".
        pairs: training pairs of both heads.
        steps: metrics of `train_heads` with two heads.

    Returns:
        The figures of the study `mah_dpo`, without intervals.

    Example:
        correct 0.5 at weight 1, 0.3 at weight 0 and 0.4 of the single head
        ->  rise/correct/0-1 0.2, gain/correct/1 0.1

    Paper: arXiv:2510.01167 (MAH-DPO), the sweep of weights at inference.
    Differs: nothing.
    """
    facts = dict[str, float]()
    for name, own in found.items():
        facts |= {f"correct/{name}": own.correct, f"tokens/{name}": own.tokens}
        facts[f"gain/correct/{name}"] = own.correct - found["single"].correct
        facts[f"saved/{name}"] = found["single"].tokens - own.tokens
    facts["gain/start"] = found["1"].correct - found["start"].correct
    for low, high in (*pairwise(SHARES), *SPANS):
        step = f"{low:g}-{high:g}"
        less = found[f"{low:g}"]
        more = found[f"{high:g}"]
        facts |= {f"rise/correct/{step}": more.correct - less.correct, f"rise/tokens/{step}": more.tokens - less.tokens}
    last = steps[-max(1, len(steps) // 10) :]
    for head, name in enumerate(OBJECTIVES):
        facts[f"pairs/{name}"] = float(sum(one.head == head for one in pairs))
        facts[f"margin/{name}"] = float(np.mean([one[f"{head}/margin"] for one in last if f"{head}/margin" in one]))
    return facts
