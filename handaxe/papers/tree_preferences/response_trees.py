"""Responses to compare: leaves of a tree with shared prefixes, or as many independent rollouts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from handaxe import rollouts
from handaxe.core.protocols import Labelled, Rollout, Source
from handaxe.core.records import Pair
from handaxe.judges.labelled_groups import with_zero_credit
from handaxe.methods.method import Method
from handaxe.ops.seeds import generator
from handaxe.papers.tree_preferences.segment_forks import segment_forks
from handaxe.selection.pairs.ordered import ordered
from handaxe.training.stages.sources import played

__all__ = ["Topology", "drawn_pairs", "leaf_count", "response_source", "response_tree"]

Topology = Literal["tree", "chain"]


def leaf_count(*, depth: int, branches: int) -> int:
    """Leaves of a tree: the trunk and its branches.

    Example:
        depth 2 and branches 2 -> 5
    """
    return 1 + depth * branches


def response_tree(*, depth: int = 2, branches: int = 2, max_turns: int = 4) -> Rollout:
    """Make a rollout strategy whose trajectories are the leaves of a tree.

    Args:
        depth, branches: see `segment_forks`.
        max_turns: of a leaf.

    Returns:
        A rollout strategy; use it with one rollout a task. A trunk with few tokens has fewer leaves.

    Example:
        depth 2 and branches 2: a trunk, two leaves that share a third of its tokens, and two that share two thirds

    Paper: arXiv:2402.10184, tree-structured preference data.
    Unconfirmed: depth and branching.
    Differs: see `segment_forks`.
    """
    return rollouts.forking(at=segment_forks(depth=depth, branches=branches), max_turns=max_turns)


def response_source(base: Method, topology: Topology, *, groups: int, depth: int, branches: int) -> Source:
    """Make a source of the first policy's responses to compare, with the method's reward as label.

    Args:
        topology: "tree"; or "chain", as many independent rollouts as a tree has leaves.
        groups: tasks.
        depth, branches: of a tree.

    Example:
        24 groups, depth 2, branches 2, chain  ->  24 groups of 5 independent rollouts
    """
    tree = response_tree(depth=depth, branches=branches, max_turns=base.settings.max_turns)
    choices: dict[Topology, tuple[int, dict[str, Any]]] = {
        "tree": (1, {"reward": base.reward, "rollout": tree}),
        "chain": (leaf_count(depth=depth, branches=branches), {"reward": base.reward}),
    }
    size, arguments = choices[topology]
    return played(groups=groups, group_size=size, arguments=arguments)


def drawn_pairs(given: Sequence[Labelled], *, seed: int) -> list[Pair]:
    """All pairs of siblings with unequal outcomes, in random order; the first n are the labels of a budget of n.

    Args:
        given: groups of responses.
        seed: of the order.

    Returns:
        Pairs of all groups.

    Example:
        outcomes (1, 0, 0) and (1, 1)  ->  two pairs

    Paper: arXiv:2402.10184, comparisons of responses to one prompt.
    Differs: comparisons of equal responses are not asked for.
    """
    found = ordered()(with_zero_credit(given))
    return [found[k] for k in generator("comparisons", seed).permutation(len(found))]
