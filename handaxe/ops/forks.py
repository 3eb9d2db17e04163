"""What the trajectories of a group share: whose each token is, and the tree of their turns."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from handaxe.core.records import Author, Branch, Group, Spent, Trajectory

__all__ = ["Steps", "owners", "shared_turns", "steps_of", "used_together"]


def owners(group: Group) -> list[tuple[np.ndarray, ...]]:
    """Which trajectory each token was first made in.

    A fork's tokens up to its `branch_of` are what it left's, which may be another's in turn. Siblings share a token,
    together with all before it, where they have the same owner at the same place.

    Args:
        group: forks among them or not. Forks of a trajectory that is not in the group share with each other what they
            share with it; what that one itself had of another is then taken for its own.

    Returns:
        Per sibling, per sequence [T] int64: the owner's place in the group; further numbers stand for trajectories
        that are not in it.

    Example:
        t/1 left t/0 at token 4, and both have 6 tokens  ->  0 0 0 0 0 0  and  0 0 0 0 1 1
    """
    number = {trajectory.id: i for i, trajectory in enumerate(group)}
    for trajectory in group:
        if trajectory.branch_of is not None:
            number.setdefault(trajectory.branch_of.trajectory, len(number))
    return [_owners(trajectory, group, number) for trajectory in group]


def _owners(trajectory: Trajectory, group: Group, number: dict[str, int]) -> tuple[np.ndarray, ...]:
    """Walk from a trajectory to what it left, and to what that left, and so on."""
    out = tuple(np.full(len(sequence), number[trajectory.id], np.int64) for sequence in trajectory.sequences)
    one = trajectory
    for _ in range(len(group)):  # no chain is longer
        place = one.branch_of
        if place is None:
            break
        for s in range(min(place.sequence + 1, len(out))):
            stop = place.token if s == place.sequence else len(out[s])
            mine = out[s][:stop]
            mine[mine == number[one.id]] = number[place.trajectory]
        if number[place.trajectory] >= len(group):
            break
        one = group[number[place.trajectory]]
    return out


class Steps(NamedTuple):
    """The tree of a group's turns; a step is a turn, which several siblings may share with all that led to it.

    of        per sibling [N_i] int64: the step that each of its turns is
    parents   [S] int64: the step before; -1 for a first one
    through   per step: the siblings that have it, m(s), in order
    """

    of: list[np.ndarray]
    parents: np.ndarray
    through: list[list[int]]

    def children(self, step: int) -> np.ndarray:
        """The steps that follow a step; those of -1 are the first ones."""
        return np.flatnonzero(self.parents == step)


def steps_of(group: Group) -> Steps:
    """Find the steps of a group. A turn of which a fork kept only the first part is a step of its own.

    Example:
        t/0 has turns a b c; t/1 left it before its turn b and has a d  ->  steps a b c d as 0 1 2 3,
        of 0 1 2 / 0 3, parents -1 0 1 0, through [0, 1] [0] [0] [1]
    """
    known: dict[tuple[int, int], int] = {}
    of: list[np.ndarray] = []
    parents: list[int] = []
    through: list[list[int]] = []
    for i, (trajectory, owner) in enumerate(zip(group, owners(group))):
        path: list[int] = []
        for k, turn in enumerate(trajectory.turns):
            key = (int(owner[turn.sequence][turn.stop - 1]), k)
            if key not in known:
                known[key] = len(parents)
                parents.append(path[-1] if path else -1)
                through.append([])
            path.append(known[key])
            through[path[-1]].append(i)
        of.append(np.array(path, np.int64))
    return Steps(of, np.array(parents, np.int64), through)


def shared_turns(trajectory: Trajectory) -> int:
    """How many of a trajectory's turns were played, and answered, in what it left."""
    place = trajectory.branch_of
    if place is None:
        return 0
    return sum((turn.sequence, turn.stop) < (place.sequence, place.token) for turn in trajectory.turns)


def used_together(group: Group) -> Spent:
    """All that a group used up: what the engine drew and the tools were asked.

    What a fork shares with the sibling that it left counts there alone, and words that were forced on the policy do not
    count as sampled. What a fork shares with a trajectory that is not in the group counts as its own `used` says.

    Example:
        t/0 has 6 sampled tokens, t/1 left it at the second of them and has 5  ->  tokens 6 + 5 - 2
    """
    siblings, total = {trajectory.id for trajectory in group}, Spent()
    for one in group:
        gone = Spent()
        if one.branch_of is not None and one.branch_of.trajectory in siblings:
            gone = Spent.of(one.turns[: shared_turns(one)])._replace(tokens=_drawn_before(one, one.branch_of))
        forced = sum(int(sequence.forced.sum()) for sequence in one.sequences)
        own = one.used.together(Spent(-gone.tokens - forced, -gone.calls, -gone.seconds, -gone.cost))
        total = total.together(own)
    return total


def _drawn_before(trajectory: Trajectory, place: Branch) -> int:
    """How many tokens the policy drew before a place."""
    whole = sum(int((sequence.author == Author.POLICY).sum()) for sequence in trajectory.sequences[: place.sequence])
    return whole + int((trajectory.sequences[place.sequence].author[: place.token] == Author.POLICY).sum())
