"""Proposals for the next step of a pipeline from the results of the parent node and its siblings."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np

from handaxe.core.errors import InputError
from handaxe.worlds.parts.table_pipelines import STAGES, TableChoice

__all__ = ["CAPACITY", "capacity_direction", "option_capacity", "propose_options"]

CAPACITY: Mapping[str, float] = MappingProxyType(
    {
        "pca90": -0.5, "pca50": -1.0, "kernel": 1.0,
        "linear": -1.0, "forest": 0.5, "tree": 1.0,
        "weak": 1.0, "strong": -1.0,
    }
)  # fmt: skip
"""Option -> capacity to fit the training rows relative to the other options of a stage; 0 for options not listed."""


def option_capacity(choice: TableChoice, depth: int) -> float:
    """Capacity of the option of the last decided stage; 0 before the first.

    Example:
        TableChoice("standard", "pca50") at depth 2 -> -1
    """
    return CAPACITY.get(choice[depth - 1], 0.0) if depth else 0.0


def capacity_direction(
    train: float, dev: float, *, capacity: float, siblings: Sequence[tuple[float, float]] = ()
) -> float:
    """Diagnose a node from its scores and its siblings: more capacity, or less.

        own   = (b - g) / (b + g)        b = 1 - train, g = max(0, train - dev): too little capacity, or overfitting
        other = mean over siblings with another capacity of sign((dev_s - dev) (capacity_s - capacity))
        d     = own without such siblings, else (own + other) / 2

    Args:
        train, dev: unit scores of the node's pipeline on training and development rows.
        capacity: of the option that the node chose.
        siblings: (development score, capacity) of each executed sibling.

    Returns:
        d from -1, less capacity, to 1, more; 0 for a pipeline without errors and without such siblings.

    Raises:
        InputError: a training score outside 0 to 1.

    Example:
        train 0.9, dev 0.6: b = 0.1, g = 0.3, d = -0.5; with a better sibling of more capacity (-0.5 + 1) / 2 = 0.25

    Paper: arXiv:2502.14693 (I-MCTS), introspective expansion.
    Differs: a rule reads the scores; in the paper a language model reads code, results and scores of the parent, and
        writes the next instruction.
    """
    if not 0 <= train <= 1:
        raise InputError(f"a unit score is from 0 to 1, not {train}")
    bias = 1 - train
    gap = max(0.0, train - dev)
    own = (bias - gap) / (bias + gap) if bias + gap > 0 else 0.0
    signs = [float(np.sign((score - dev) * (other - capacity))) for score, other in siblings if other != capacity]
    return (own + sum(signs) / len(signs)) / 2 if signs else own


def propose_options(stage: str, *, direction: float, count: int, sharpness: float, rng: random.Random) -> list[str]:
    """Draw distinct options of a stage, preferably along a direction of capacity.

        P(next = o) = exp(sharpness d capacity_o) / sum over options not yet drawn

    Args:
        stage: a key of STAGES.
        direction: d, see `capacity_direction`; 0 draws evenly.
        count: at most this many options, 1 or more.
        sharpness: 0 or more.
        rng: source of the draws.

    Returns:
        Options in the order of the draws.

    Raises:
        InputError: an unknown stage, or a number out of range.

    Example:
        "strength" with d = 1 and sharpness 2: weak, middle and strong have weights e^2, 1 and e^-2

    Paper: arXiv:2502.14693 (I-MCTS), generation of instructions one after another, each unlike the earlier ones.
    Differs: options of a list instead of sentences.
    """
    if stage not in STAGES or count < 1 or not sharpness >= 0:
        raise InputError(f"propose 1 option or more of {', '.join(STAGES)}, not {count} of {stage!r}")
    left = list(STAGES[stage])
    found: list[str] = []
    while left and len(found) < count:
        weights = np.exp(sharpness * direction * np.array([CAPACITY.get(option, 0.0) for option in left]))
        found.append(rng.choices(left, weights.tolist())[0])
        left.remove(found[-1])
    return found
