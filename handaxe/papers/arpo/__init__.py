"""ARPO (arXiv:2507.19849): branch rollouts after tool results with a rise of the policy's entropy."""

from handaxe import rollouts
from handaxe.methods.build import load_vocab_size
from handaxe.methods.method import Method, replace

__all__ = ["arpo"]


def arpo(
    base: Method,
    *,
    leaves: int = 8,
    from_start: int = 4,
    forks: int = 1,
    vocabulary: int | None = None,
    minibatches: int = 1,
) -> Method:
    """Branch after tool results, with probability increasing in entropy; the branches of an attempt are a group.

    Args:
        leaves: trajectories of a question; 16 in the paper.
        from_start: trajectories that start from the question, 8 in the paper; a value of `leaves` disables branching.
        forks: most branches at a turn; 1 in the paper.
        vocabulary: token ids that normalise entropies; None: those of the policy, 264 for the tiny one.
        minibatches: optimiser steps a training step, at least those of the base.
    """
    ids = vocabulary or load_vocab_size(base.settings.model)
    turns, chance = base.settings.max_turns, rollouts.branch_chance(vocabulary=ids)
    branching = rollouts.branching(chance=chance, total=leaves, from_start=from_start, copies=forks, max_turns=turns)
    return replace(base, rollout=branching, minibatches=max(minibatches, base.minibatches))
