"""Bias and variance of credits: what the gradient that they estimate is on average, against the true one.

Everything is computed by listing all batches of `testing.mdp`, a decision process small enough for that; nothing is
sampled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from handaxe.core.protocols import Credit, Shape
from handaxe.testing.mdp import StopOrGo, estimate_moments, gradient

__all__ = ["Case", "Measured", "Verdict", "measure"]

Verdict = Literal["yes", "up to its length", "no"]
EXACT = 1e-9
"""A difference, as a share of the gradient's length, that rounding explains."""
WORLDS = (StopOrGo(), StopOrGo(logits=(-0.5, 0.3, 0.2), outcome=(0.0, 1.0, -2.0, 3.0), stop=(0.0, 1.0, 0.3)))
"""Where it is decided whether a credit is without bias; figures are of the first."""


@dataclass(frozen=True)
class Case:
    """A credit to be measured.

    Args:
        credit: the file it stands in.
        said: how it is made, in Python.
        make: makes it, with a shape for the batch where it needs one.
        groups: groups a batch, 2 for what looks at the whole batch.
        forks: whether every sibling is forked once, where it gets that far.
    """

    credit: str
    said: str
    make: Callable[[], tuple[Credit, Shape | None]]
    groups: int = 1
    forks: bool = False


class Measured(NamedTuple):
    """What came of a case: g is its estimate, J' the true gradient.

    unbiased   E g = J' ("yes"), E g = c J' for some c > 0 ("up to its length": a learning rate makes up for it), "no"
    length     c: the length of E g along J', as a share of that of J'
    bias       |E g - c J'| / |c J'|: what no learning rate makes up for
    angle      degrees between E g and J'
    variance   E |g - E g|^2 / |c J'|^2
    """

    case: Case
    unbiased: Verdict
    length: float
    bias: float
    angle: float
    variance: float


def measure(cases: Sequence[Case], *, size: int = 4) -> list[Measured]:
    """Measure credits, those without bias first, then by their bias and variance.

    Args:
        cases: what to measure.
        size: siblings a batch, shared out over its groups.
    """
    found = [_measured(case, size) for case in cases]
    order: Sequence[Verdict] = ("yes", "up to its length", "no")
    return sorted(found, key=lambda one: (order.index(one.unbiased), round(one.bias, 9), one.variance))


def _measured(case: Case, size: int) -> Measured:
    first, *others = WORLDS
    found = _in_world(case, first, size)
    lengths = [found.length]
    if not _straight(found):
        return found
    for world in others:
        other = _in_world(case, world, size)
        lengths.append(other.length)
        if not _straight(other):
            return found
    return found._replace(unbiased="yes" if all(abs(one - 1) < EXACT for one in lengths) else "up to its length")


def _straight(one: Measured) -> bool:
    return one.bias < EXACT and one.length > 0


def _in_world(case: Case, world: StopOrGo, size: int) -> Measured:
    """The figures in one world, without a verdict."""
    credit, shape = case.make()
    true = gradient(world)
    mean, variance = estimate_moments(
        world, credit, size // case.groups, groups=case.groups, shape=shape, forks=case.forks
    )
    length = float(mean @ true / (true @ true))
    along = length * true
    if not along.any():
        return Measured(case, "no", 0.0, float("inf"), 90.0, float("inf"))
    cosine = float(mean @ true / np.sqrt((mean @ mean) * (true @ true)))
    return Measured(
        case,
        "no",
        length,
        float(np.linalg.norm(mean - along) / np.linalg.norm(along)),
        float(np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0)))),
        float(variance / (along @ along)),
    )
