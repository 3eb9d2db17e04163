"""Says of the trajectories of a tree where each left an earlier one, so that the tree is found again."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from handaxe.core.records import Branch, Trajectory

__all__ = ["attach_branches", "common_turns"]


def attach_branches(trajectories: Sequence[Trajectory], dropped: Collection[str]) -> list[Trajectory]:
    """The kept ones, then those given up, each a fork of the first of all, or of an earlier one, with which it has the
    most turns in common: of one that is scored where it left one that is not.

    Args:
        trajectories: of one tree; a turn has its own seed, the same in all that share it.
        dropped: ids of those given up.

    Example:
        a: turns 1 2; b: turns 1 3, a fork of a; c: turns 1 3 4, a fork of a  ->  a, b of a at turn 1, c of b at turn 2

    Idea: two attempts of one tree are together for as long as their turns have the same seeds.
    """
    order = [one for one in trajectories if one.id not in dropped] + [one for one in trajectories if one.id in dropped]
    root = next((one for one in order if one.branch_of is None), None)
    out: list[Trajectory] = []
    for i, one in enumerate(order):
        if one.branch_of is None or root is None:
            out.append(one)
            continue
        earlier = [root, *order[:i]]
        common = [common_turns(one, other) for other in earlier]
        most = max(common)
        _, sequence, token = one.branch_of
        if most < len(one.turns):
            sequence, token = one.turns[most].sequence, one.turns[most].start
        out.append(replace(one, branch_of=Branch(earlier[common.index(most)].id, sequence, token)))
    return out


def common_turns(one: Trajectory, other: Trajectory) -> int:
    """How many turns two trajectories share."""
    pairs = zip(one.turns, other.turns)
    shorter = min(len(one.turns), len(other.turns))
    return next((k for k, (mine, theirs) in enumerate(pairs) if mine.seed != theirs.seed), shorter)
