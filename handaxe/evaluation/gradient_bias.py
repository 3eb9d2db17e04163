"""Bias and variance of credits, computed exactly.

All batches of `testing.mdp`, a small decision process, are listed with their probability; nothing is sampled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from handaxe.core.protocols import AdvantageTransform, Credit
from handaxe.testing.mdp import StopOrGo, estimate_moments, exact_gradient

__all__ = ["BiasCase", "BiasRow", "Unbiased", "measure_bias"]

Unbiased = Literal["yes", "up to its length", "no"]
EXACT = 1e-9
"""Rounding error of a difference, relative to the gradient's length."""
PROCESSES = (StopOrGo(), StopOrGo(logits=(-0.5, 0.3, 0.2), outcome=(0.0, 1.0, -2.0, 3.0), stop=(0.0, 1.0, 0.3)))
"""Decision processes that decide whether a credit is unbiased; figures are of the first."""


@dataclass(frozen=True)
class BiasCase:
    """A credit to measure. Tests of mechanisms list cases as the constant BIAS.

    Args:
        text: the credit in Python, such as "group_norm(std=None)".
        credit: factory of the credit, called once a process.
        transform: factory of a transform of the batch's advantages.
        groups: groups a batch; 2 for a transform that reads the whole batch.
        forks: fork every sibling once, at its second turn.
        by_turn: the credit reads per-turn rewards.
    """

    text: str
    credit: Callable[[], Credit]
    transform: Callable[[], AdvantageTransform] | None = None
    groups: int = 1
    forks: bool = False
    by_turn: bool = False


class BiasRow(NamedTuple):
    """Figures of a case: g is the gradient estimate, J' the true gradient.

    unbiased   E g = J' ("yes"), E g = c J' for some c > 0 ("up to its length": a learning rate compensates), or "no"
    length     c: the length of E g along J', relative to J'
    bias       |E g - c J'| / |c J'|: no learning rate compensates
    angle      degrees between E g and J'
    variance   E |g - E g|^2 / |c J'|^2
    """

    case: BiasCase
    unbiased: Unbiased
    length: float
    bias: float
    angle: float
    variance: float


def measure_bias(cases: Sequence[BiasCase], *, size: int = 4) -> list[BiasRow]:
    """Measure credits; order the rows by unbiasedness, bias, variance and text.

    Args:
        cases: credits to measure.
        size: siblings a batch, divided among its groups.
    """
    found = [_row(case, size) for case in cases]
    order: Sequence[Unbiased] = ("yes", "up to its length", "no")
    return sorted(
        found, key=lambda row: (order.index(row.unbiased), round(row.bias, 9), round(row.variance, 9), row.case.text)
    )


def _row(case: BiasCase, size: int) -> BiasRow:
    first, *others = PROCESSES
    found = _on_process(case, first, size)
    lengths = [found.length]
    if not _straight(found):
        return found
    for process in others:
        other = _on_process(case, process, size)
        lengths.append(other.length)
        if not _straight(other):
            return found
    return found._replace(unbiased="yes" if all(abs(one - 1) < EXACT for one in lengths) else "up to its length")


def _straight(row: BiasRow) -> bool:
    return row.bias < EXACT and row.length > 0


def _on_process(case: BiasCase, process: StopOrGo, size: int) -> BiasRow:
    """Figures on a process, with `unbiased` open."""
    true = exact_gradient(process)
    mean, variance = estimate_moments(
        process,
        case.credit(),
        size // case.groups,
        groups=case.groups,
        transform=case.transform() if case.transform else None,
        forks=case.forks,
    )
    length = float(mean @ true / (true @ true))
    along = length * true
    if not along.any():
        return BiasRow(case, "no", 0.0, float("inf"), 90.0, float("inf"))
    cosine = float(mean @ true / np.sqrt((mean @ mean) * (true @ true)))
    return BiasRow(
        case,
        "no",
        length,
        float(np.linalg.norm(mean - along) / np.linalg.norm(along)),
        float(np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0)))),
        float(variance / (along @ along)),
    )
