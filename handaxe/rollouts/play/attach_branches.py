"""Fork points between the trajectories of a tree."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from handaxe.core.records import Branch, Trajectory

__all__ = ["attach_branches", "common_turns"]


def attach_branches(trajectories: Sequence[Trajectory], dropped: Collection[str]) -> list[Trajectory]:
    """Order trajectories, kept ones before dropped ones, and set each one's `branch_of`: the earlier trajectory with
    the longest common prefix of turns, else the first. A scored trajectory takes over the fork point of an unscored
    origin.

    Args:
        trajectories: of one tree; a turn has a distinct seed, the same in all trajectories that share it.
        dropped: ids of dropped trajectories.

    Example:
        a: turns 1 2; b: turns 1 3, a fork of a; c: turns 1 3 4, a fork of a  ->  a, b of a at turn 1, c of b at turn 2

    Idea: two trajectories of one tree share exactly their turns of equal seeds.
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
    """Number of leading turns that two trajectories share."""
    pairs = zip(one.turns, other.turns)
    shorter = min(len(one.turns), len(other.turns))
    return next((k for k, (mine, theirs) in enumerate(pairs) if mine.seed != theirs.seed), shorter)
