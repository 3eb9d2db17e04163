"""Preferences of several objectives among rollouts of one task."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from handaxe.core.protocols import Labelled
from handaxe.core.records import Advantages, RatedGroup, Scores
from handaxe.papers.mah_dpo.head_training import HeadPair
from handaxe.selection.pairs.ordered import ordered

__all__ = ["OBJECTIVES", "objective_pairs"]

OBJECTIVES = ("correct", "brief")
"""Names of the objectives; the number of an objective is that of its head."""


def objective_pairs(labelled: Sequence[Labelled], *, most: int = 4) -> list[HeadPair]:
    """Make pairs of siblings for each objective.

        correct  a correct rollout over an incorrect one; verifiable
        brief    a rollout with fewer tokens of the policy; the strongest differences first

    Args:
        labelled: groups with the outcomes of the world.
        most: pairs of a task and an objective at most.

    Returns:
        Pairs of objective 0, then of objective 1, task after task.

    Raises:
        InputError: `most` below 1.

    Example:
        outcomes 1, 0 and 9, 2 tokens  ->  the first over the second for head 0, the second over the first for head 1

    Paper: arXiv:2510.01167 (MAH-DPO), a preference data set per dimension.
    Differs: the second preference is a rule and no person.
    """
    found = list[HeadPair]()
    pairs = ordered(most=most)
    for head, name in enumerate(OBJECTIVES):
        rated = [_rated(one, name) for one in labelled]
        found += [HeadPair(pair, head) for pair in pairs(rated)]
    return found


def _rated(one: Labelled, name: str) -> RatedGroup:
    group, scores = one
    values = {"correct": scores.outcome, "brief": -np.array([float(own.num_tokens) for own in group])}
    tokens = tuple(tuple(np.zeros(len(part)) for part in own.sequences) for own in group)
    return RatedGroup.of(group, Scores(np.asarray(values[name], np.float64)), Advantages(tokens))
