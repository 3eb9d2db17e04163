"""Shared parts of forked trajectories in a group: the owner of each token, and the tree of turns."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from handaxe.core.images import is_image_id
from handaxe.core.records import Author, Branch, Group, TokenSequence, Trajectory
from handaxe.core.usage import Usage

__all__ = ["TurnTree", "shared_turn_count", "token_owners", "total_usage", "turn_tree"]


def token_owners(group: Group) -> list[tuple[np.ndarray, ...]]:
    """Find the trajectory in which each token was first sampled or appended.

    A fork's tokens before `branch_of` belong to its parent, or to the parent's parent. Siblings share a token and all
    tokens before it if they have the same owner at the same position.

    Args:
        group: with or without forks. Forks of a trajectory outside the group share with each other the tokens of that
            trajectory; tokens that it inherited itself count as its own.

    Returns:
        For each sibling and sequence [T] int64: the owner's index in the group; larger numbers stand for trajectories
        outside the group.

    Example:
        t/1 left t/0 at token 4, and both have 6 tokens  ->  0 0 0 0 0 0  and  0 0 0 0 1 1
    """
    index = {trajectory.id: i for i, trajectory in enumerate(group)}
    for trajectory in group:
        if trajectory.branch_of is not None:
            index.setdefault(trajectory.branch_of.trajectory, len(index))
    return [_owners(trajectory, group, index) for trajectory in group]


def _owners(trajectory: Trajectory, group: Group, index: dict[str, int]) -> tuple[np.ndarray, ...]:
    """Walk from a trajectory to its parent, to the parent's parent, and so on."""
    out = tuple(np.full(len(sequence), index[trajectory.id], np.int64) for sequence in trajectory.sequences)
    fork = trajectory
    for _ in range(len(group)):  # a chain of forks is at most as long as the group
        branch = fork.branch_of
        if branch is None:
            break
        for s in range(min(branch.sequence + 1, len(out))):
            stop = branch.token if s == branch.sequence else len(out[s])
            inherited = out[s][:stop]
            inherited[inherited == index[fork.id]] = index[branch.trajectory]
        if index[branch.trajectory] >= len(group):
            break
        fork = group[index[branch.trajectory]]
    return out


class TurnTree(NamedTuple):
    """Tree of a group's turns; a node is a turn, shared by all siblings with the same turns up to it.

    nodes     for each sibling [N_i] int64: the node of each turn
    parents   [S] int64: the node before; -1 for a first turn
    members   for each node: the indices of the m(s) siblings with it, in order
    """

    nodes: list[np.ndarray]
    parents: np.ndarray
    members: list[list[int]]

    def children(self, node: int) -> np.ndarray:
        """Return the nodes after a node; the children of -1 are the first turns."""
        return np.flatnonzero(self.parents == node)


def turn_tree(group: Group) -> TurnTree:
    """Build the tree of a group's turns. A partly shared turn is a separate node.

    Example:
        t/0 has turns a b c; t/1 left before turn b and has turn d  ->  nodes a b c d as 0 1 2 3,
        nodes 0 1 2 / 0 3, parents -1 0 1 0, members [0, 1] [0] [0] [1]
    """
    known: dict[tuple[int, int], int] = {}
    nodes: list[np.ndarray] = []
    parents: list[int] = []
    members: list[list[int]] = []
    for i, (trajectory, owner) in enumerate(zip(group, token_owners(group))):
        path: list[int] = []
        for k, turn in enumerate(trajectory.turns):
            key = (int(owner[turn.sequence][turn.stop - 1]), k)
            if key not in known:
                known[key] = len(parents)
                parents.append(path[-1] if path else -1)
                members.append([])
            path.append(known[key])
            members[path[-1]].append(i)
        nodes.append(np.array(path, np.int64))
    return TurnTree(nodes, np.array(parents, np.int64), members)


def shared_turn_count(trajectory: Trajectory) -> int:
    """Count the turns of a fork before `branch_of` with their replies."""
    branch = trajectory.branch_of
    if branch is None:
        return 0
    return sum((turn.sequence, turn.stop) < (branch.sequence, branch.token) for turn in trajectory.turns)


def total_usage(group: Group) -> Usage:
    """Sum the resources that a group used: sampled tokens, tool calls, seconds, cost, and images of tool
    results.

    Tokens and calls that a fork shares with its parent in the group count once. Forced tokens do not count as sampled.
    A fork of a trajectory outside the group counts in full, as its `used` states.

    Example:
        t/0 has 6 sampled tokens, t/1 left t/0 at the second of them and has 5  ->  tokens 6 + 5 - 2
    """
    siblings, total = {trajectory.id for trajectory in group}, Usage()
    for fork in group:
        shared = Usage()
        if fork.branch_of is not None and fork.branch_of.trajectory in siblings:
            shared = Usage.of(fork.turns[: shared_turn_count(fork)])._replace(
                tokens=_count_before(fork, fork.branch_of, lambda one: one.author == Author.POLICY),
                image_tokens=_count_before(fork, fork.branch_of, _is_reply_image),
            )
        forced = sum(int(sequence.forced.sum()) for sequence in fork.sequences)
        total = total.plus(fork.usage.minus(shared).minus(Usage(forced)))
    return total


def _count_before(trajectory: Trajectory, branch: Branch, chosen: Callable[[TokenSequence], np.ndarray]) -> int:
    """Count the chosen tokens before a position."""
    earlier = sum(int(chosen(sequence).sum()) for sequence in trajectory.sequences[: branch.sequence])
    return earlier + int(chosen(trajectory.sequences[branch.sequence])[: branch.token].sum())


def _is_reply_image(sequence: TokenSequence) -> np.ndarray:
    """True at image tokens of tool results, [T]."""
    found: np.ndarray = (sequence.author == Author.TOOL) & is_image_id(sequence.ids)
    return found
