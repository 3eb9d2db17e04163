"""Depth-first search over turns: a failed branch ends, and the node above samples another turn."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from handaxe.core.errors import InfrastructureError, InputError, VerifierError
from handaxe.core.protocols import Reward, Rollout, RolloutPlan
from handaxe.core.records import Group, Trajectory, Turn
from handaxe.core.requests import Attempt, Stopped, Work
from handaxe.rollouts.play import Play, Request, Rules
from handaxe.rollouts.play.attach_branches import attach_branches
from handaxe.rollouts.play.rounds import Rounds
from handaxe.rollouts.search.node import Node, grow

__all__ = ["TREE", "decision_tree", "is_failed"]

TREE = "tree"
"""Key of the notes: nodes of the tree, and whether the trajectory is its success path."""


def decision_tree(*, outcome: Reward, children: int = 3, nodes: int = 24, max_turns: int | Rules = 4) -> Rollout:
    """Search depth first for a trajectory with a positive outcome.

        search(n)   up to `children` times: sample and execute a next turn c of n
                        c failed                       pruned, next child
                        c ended the rollout            outcome > 0.5: success; else a failed leaf, next child
                        otherwise                      search(c); its success is the success of n
                    all children failed                n is a failed branch

    A turn failed if a call was malformed or a reply has a status other than "ok". The first success ends the search,
    and so do `nodes` sampled turns. A turn is executed in a fork of the state of its parent, without effects of
    siblings.

    Args:
        outcome: correctness of a whole rollout.
        children: of a node, >= 1.
        nodes: turns of the tree, >= 1.
        max_turns: turns or `Rules`, per trajectory, as in `linear`.

    Returns:
        A rollout strategy: Attempt -> generator of requests that returns a trajectory for each leaf: the success path
        first, then incorrect answers, then pruned branches, ended as stopped. notes["tree"] has nodes, and success,
        true for the success path. One rollout is a whole group: `group_size=1`.

    Raises:
        InputError: a number out of range, or an environment without snapshots or with a limit on open environments.

    Example:
        children a (failed) and b of the question, c (failed) and d (correct) of b  ->  trajectories b d, a and b c

    Paper: arXiv:2406.07115 (TP-LLaMA), inference trees of depth-first search (DFSDT).
    Unconfirmed: the order of the search and its limits.
    Differs: a failed call prunes, where a model gives up by itself in the paper; siblings are independent samples.
    """
    if min(children, nodes) < 1:
        raise InputError(f"decision_tree has children={children} and nodes={nodes}; give 1 or more")
    rules = Rules.of(max_turns, snapshots=True)

    def rollout(attempt: Attempt) -> RolloutPlan:
        rounds = Rounds()
        root = Node(Play(attempt, rules))
        tree = _Tree(rounds, outcome, children, nodes)
        given_up = list[str]()
        success = None
        try:
            yield from rounds.open(root.play)
            if rounds.active:
                success = yield from tree.search(root)
            given_up = [play.attempt.id for play in rounds.active]
            for play in rounds.active:
                yield from rounds.drop(play)
        except Stopped:
            yield from rounds.stop()
        finally:
            rounds.close()
        return _noted(rounds.trajectories, given_up, success, nodes - tree.left)

    rollout.branches = True  # type: ignore[attr-defined]
    return rollout


def is_failed(turn: Turn) -> bool:
    """Return True for a turn with a malformed call, or with a reply other than "ok".

    Example:
        replies ok, failed -> True; an answer without a call -> False
    """
    return bool(turn.parsed.errors) or any(reply.status != "ok" for reply in turn.replies)


@dataclass
class _Tree:
    """Tree in progress; `left` is the number of turns that may still be sampled."""

    rounds: Rounds
    outcome: Reward
    children: int
    left: int

    def search(self, node: Node) -> Generator[Request, Any, Node | None]:
        """Search below a node; returns the leaf of the success, or None."""
        for _ in range(self.children):
            if not self.left:
                return None
            self.left -= 1
            child = yield from self._child(node)
            found = None if child.dead else (yield from self._follow(child))
            if found is not None:
                return found
        return None

    def _follow(self, child: Node) -> Generator[Request, Any, Node | None]:
        """The success at or below a child."""
        if child.terminal:
            return child if (yield from self._succeeds(child)) else None
        if is_failed(child.play.turns[child.depth - 1]):
            return None
        return (yield from self.search(child))

    def _child(self, node: Node) -> Generator[Request, Any, Node]:
        before = node.children
        yield from grow(self.rounds, node, 1)
        node.children = [*before, *node.children]
        return node.children[-1]

    def _succeeds(self, leaf: Node) -> Generator[Request, Any, bool]:
        one = next(own for own in self.rounds.trajectories if own.id == leaf.play.attempt.id)
        if one.ending.kind == "infra_error":
            return False
        return bool((yield Work(partial(_is_success, one, self.outcome))))


def _is_success(one: Trajectory, outcome: Reward) -> bool:
    try:
        return bool(np.nan_to_num(outcome(Group(one.task, (one,))).outcome[0]) > 0.5)
    except (InfrastructureError, VerifierError):
        return False


def _noted(
    trajectories: Sequence[Trajectory], given_up: Sequence[str], success: Node | None, count: int
) -> list[Trajectory]:
    """Put the success path first, and add the notes."""
    chosen = None if success is None else success.play.attempt.id
    order = sorted(trajectories, key=lambda one: one.id != chosen)
    return [
        replace(one, notes={**one.notes, TREE: {"nodes": count, "success": one.id == chosen}})
        for one in attach_branches(order, given_up)
    ]
