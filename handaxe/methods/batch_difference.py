"""Comparison of two training batches of one step, token by token, and of rollout strategies."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence
from itertools import takewhile

import numpy as np

from handaxe.core.records import Author, RatedGroup, Trajectory

__all__ = ["batch_difference", "rollout_marks", "unplayable_rollouts"]

CLOSE = 1e-9
"""Difference of two advantages that rounding explains, absolute and relative."""
TURNS = "turns"
"""Reason of a rollout's end at the limit of turns."""
Key = tuple[str, int]
"""Id of a trajectory, and index of a sequence."""
Weights = dict[str, np.ndarray]
"""Channel -> [T] advantages, "" for the main one; the key "trains" is the training mask."""


def batch_difference(
    ours: Sequence[RatedGroup],
    theirs: Sequence[RatedGroup],
    *,
    foreign: Collection[str] = (),
    stopped: int = 0,
    rollouts: Sequence[str] = (),
) -> float:
    """Compute the share of different trained tokens of two batches.

        share = (tokens with another advantage or mask, or of a foreign rollout) / (tokens trained in either batch)

    Args:
        ours, theirs: selected and transformed groups of each side, with equal ids of rollouts.
        foreign: ids of rollouts without a counterpart on the other side. All tokens differ.
        stopped: number of tokens of rollouts stopped on one side alone. All differ.
        rollouts: ids of all played rollouts.

    Returns:
        0 to 1. If neither batch trains a token, the share of foreign rollouts among `rollouts`.

    Example:
        10 tokens with equal advantages, 5 masked in ours: 5 / 10
    """
    mine, base = _weights(ours), _weights(theirs)
    differ, total = stopped, stopped
    for key in mine.keys() | base.keys():
        sides = [side[key] for side in (mine, base) if key in side]
        lengths = {len(one["trains"]) for one in sides}
        if len(lengths) > 1:  # a replaced rollout
            count = sum(int(one["trains"].sum()) for one in sides)
            differ, total = differ + count, total + count
            continue
        union = np.logical_or.reduce([one["trains"] for one in sides])
        changed = union if key[0] in foreign or len(sides) == 1 else union & _differ(*sides)
        differ, total = differ + int(changed.sum()), total + int(union.sum())
    if total:
        return differ / total
    return sum(one in foreign for one in rollouts) / max(1, len(rollouts))


def rollout_marks(rollout: Trajectory) -> set[Hashable]:
    """Return the marks of a rollout strategy on a rollout: forks, forced and expert tokens, turns taken back, auxiliary
    turns, further sequences, messages of the strategy, the opening, and the sampling of turns.
    """
    authors = [one.author for one in rollout.sequences]
    opening = takewhile(lambda one: one.role != "assistant", rollout.messages)
    found: set[Hashable] = {("opening", tuple((one.role, one.content, *one.images) for one in opening))}
    found |= {("sampling", turn.sampling) for turn in rollout.turns}
    found |= {("auxiliary turn", one.by) for one in rollout.aux_turns}
    found |= {("message", one.name) for one in rollout.messages if one.name and one.role != "tool"}
    flags = {
        "fork": rollout.branch_of is not None,
        "forced": any((one == Author.FORCED).any() for one in authors),
        "expert": any((one == Author.EXPERT).any() for one in authors),
        "taken back": rollout.total_usage is not None,
        "sequences": len(rollout.sequences) > 1,
    }
    return found | {name for name, present in flags.items() if present}


def unplayable_rollouts(rollouts: Iterable[Trajectory], played: Sequence[Trajectory]) -> set[str]:
    """Return the ids of rollouts beyond the reach of another strategy.

    Args:
        rollouts: of one strategy.
        played: rollouts of the other strategy on the same tasks. A rollout counts if a mark is missing in all of
            `played`, or if a rollout of `played` exceeds the limit of turns at which it ended.
    """
    known = set[Hashable]().union(*map(rollout_marks, played))
    longest = max((len(one.turns) for one in played), default=0)
    return {
        one.id
        for one in rollouts
        if not rollout_marks(one) <= known or (one.ending.reason == TURNS and len(one.turns) < longest)
    }


def _weights(rated: Sequence[RatedGroup]) -> dict[Key, Weights]:
    """Advantages and mask of every trained sequence, summed over groups with the rollout."""
    found: dict[Key, Weights] = {}
    for one in rated:
        for i, rollout in enumerate(one.group):
            for s, mask_T in enumerate(one.training_mask(i)):
                if not mask_T.any():
                    continue
                own = found.setdefault((rollout.id, s), {"trains": np.zeros(len(mask_T), bool)})
                if len(own["trains"]) == len(mask_T):
                    own["trains"] = own["trains"] | mask_T
                    for name, ragged in {"": one.advantages.tokens, **one.advantages.channels}.items():
                        own[name] = own.get(name, 0.0) + np.where(mask_T, ragged[i][s], 0.0)
    return found


def _differ(ours: Weights, theirs: Weights) -> np.ndarray:
    """[T] bool: tokens with another mask or another advantage."""
    found: np.ndarray = ours["trains"] != theirs["trains"]
    for name in (ours.keys() | theirs.keys()) - {"trains"}:
        mine, base = (side.get(name, np.zeros(len(found))) for side in (ours, theirs))
        found = found | ~np.isclose(mine, base, rtol=CLOSE, atol=CLOSE)
    return found
