"""Preference pairs of a tree: each turn of the success path against failed siblings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from handaxe.core.errors import InputError
from handaxe.core.protocols import Pairs
from handaxe.core.records import Pair, RatedGroup, Trajectory
from handaxe.papers.tp_llama.decision_tree import TREE
from handaxe.rollouts.play.attach_branches import common_turns
from handaxe.selection.parts.first_turns import first_turns

__all__ = ["Unit", "tree_siblings"]

Unit = Literal["step", "path"]


def tree_siblings(*, unit: Unit = "step") -> Pairs:
    """Make pairs of the success path and the failed branches of a tree, from rollouts of `decision_tree`.

        step   for each turn k of the success path s and each sibling x_k of it:  (s cut after k, x cut after k)
        path   for each failed leaf x:                                            (s, x)

    All siblings of a turn of the success path failed, since the search ends at the first success. Both sides of a step
    pair have the tokens before turn k in common, which cancel in a loss on differences of log-probs: the tokens of turn
    k alone train. Siblings with the tokens of the chosen turn are left out, and so are siblings with a failure of the
    infrastructure at their end.

    Args:
        unit: of the pairs.

    Returns:
        Pairs: [RatedGroup] -> [Pair] of strength 1, by group, turn, and order of the trajectories. A tree without a
        success has none.

    Raises:
        InputError: another unit; a group of another rollout strategy.

    Example:
        question -> a (failed), b;  b -> c (failed), d (success)
        step  ->  (b, a) and (b d, b c)          path  ->  (b d, a) and (b d, b c)

    Paper: arXiv:2406.07115 (TP-LLaMA), step-wise preference pairs, and path-wise pairs for comparison.
    Unconfirmed: the number of path-wise pairs of a tree.
    Differs: nothing.
    """
    if unit not in ("step", "path"):
        raise InputError(f"tree_siblings takes unit step or path, not {unit!r}")
    cut = first_turns if unit == "step" else _whole

    def pairs(rated: Sequence[RatedGroup]) -> list[Pair]:
        return [
            Pair(cut(success, k + 1), cut(failed, k + 1))
            for one in rated
            for success, failed, k in _branches(one.played.group.trajectories, once=unit == "step")
        ]

    return pairs


def _whole(one: Trajectory, count: int) -> Trajectory:
    del count
    return one


def _branches(trajectories: Sequence[Trajectory], *, once: bool) -> list[tuple[Trajectory, Trajectory, int]]:
    """Success path, failed trajectory and first different turn; with `once`, one trajectory of each different turn."""
    if lost := [one.id for one in trajectories if TREE not in one.notes]:
        raise InputError(f"trajectory {lost[0]!r} is not of decision_tree: it has no note of a tree")
    success = next((one for one in trajectories if one.notes[TREE]["success"]), None)
    if success is None:
        return []
    found = list[tuple[Trajectory, Trajectory, int]]()
    seen = set[int]()
    for one in trajectories:
        k = common_turns(success, one)
        if one is success or one.ending.kind == "infra_error" or k >= min(len(one.turns), len(success.turns)):
            continue
        seed = one.turns[k].seed
        if seed not in seen and _ids(one, k) != _ids(success, k):
            found.append((success, one, k))
            seen |= {seed} if once else set()
    return sorted(found, key=lambda branch: branch[2])


def _ids(one: Trajectory, k: int) -> list[int]:
    turn = one.turns[k]
    return [int(id) for id in one.sequences[turn.sequence].ids[turn.start : turn.stop]]
