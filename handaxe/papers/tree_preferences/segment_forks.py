"""Fork points at fixed depths of a rollout, for trees of responses with shared prefixes."""

from __future__ import annotations

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.records import Branch, Trajectory
from handaxe.rollouts.forking import Choose

__all__ = ["segment_forks", "shared_tokens"]


def segment_forks(*, depth: int = 2, branches: int = 2) -> Choose:
    """Choose the first token of each segment of a rollout but the first, several times each.

        segments: the T sampled tokens of the rollout in `depth` + 1 parts; place k at token floor(k T / (depth + 1))
        each place `branches` times, k = 1 .. depth

    With the trunk a tree has 1 + depth * branches leaves; leaves of place k share the first k segments.

    Args:
        depth: places of a trunk, >= 1; about 3 in the paper.
        branches: leaves of a place, >= 1.

    Returns:
        Trajectory -> places for `rollouts.forking(at=...)`; places of equal tokens are merged, and the first sampled
        token is no place.

    Raises:
        InputError: a number below 1.

    Example:
        12 sampled tokens, depth 2 and branches 2: tokens 4 and 8, twice each

    Paper: arXiv:2402.10184, trees of responses.
    Unconfirmed: depths and branching of the paper.
    Differs: leaves branch from one trunk; branches are not forked again.
    """
    if depth < 1 or branches < 1:
        raise InputError(f"depth is {depth} and branches {branches}; give 1 or more")

    def choose(trunk: Trajectory) -> list[Branch]:
        places = [(turn.sequence, token) for turn in trunk.turns for token in range(turn.start, turn.stop)]
        chosen = sorted({k * len(places) // (depth + 1) for k in range(1, depth + 1)} - {0})
        return [Branch(trunk.id, *places[k]) for k in chosen for _ in range(branches)]

    return choose


def shared_tokens(first: Trajectory, second: Trajectory) -> int:
    """Number of equal tokens at the beginning of the first sequences of two leaves.

    Args:
        first, second: leaves of a tree, or rollouts of one task.

    Returns:
        The number of tokens, the prompt included.

    Example:
        ids 1 2 3 4 and 1 2 9 -> 2

    Idea: the common prefix of two responses.
    """
    a, b = first.sequences[0].ids, second.sequences[0].ids
    size = min(len(a), len(b))
    different = np.flatnonzero(a[:size] != b[:size])
    return int(different[0]) if len(different) else size
