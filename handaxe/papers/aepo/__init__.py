"""AEPO: ARPO's branches, in numbers that a first trajectory decides, spread by a penalty; clips keep a gradient."""

from handaxe.losses.reductions.token_mean import token_mean
from handaxe.methods.method import Method, replace
from handaxe.papers.aepo.clip_with_gradient import clip_with_gradient
from handaxe.papers.aepo.entropy_scaled import entropy_scaled
from handaxe.papers.aepo.probe_split import probe_split
from handaxe.rollouts.branch_chance import branch_chance
from handaxe.rollouts.branching import branching

__all__ = ["aepo"]


def aepo(base: Method, *, total: int = 8, copies: int = 4, turns: int = 3, vocabulary: int = 264) -> Method:
    """Branch as ARPO does, the less the more branches were made in a row, and train unsure tokens harder.

    Args:
        total: trajectories of a question; 16 in the paper.
        copies: most branches at a turn; 1 in the paper, where a trajectory has many turns to branch at.
        turns: most turns of a trajectory.
        vocabulary: ids that the policy can say; 264 for the tiny ones.
    """
    chance = branch_chance(vocabulary=vocabulary, penalty=0.05)
    rollout = branching(chance=chance, total=total, from_start=probe_split(), copies=copies, max_turns=turns)
    loss = replace(base, surrogate=clip_with_gradient(cap=3.0), reduction=token_mean())
    return replace(loss, rollout=rollout, shape=entropy_scaled(), annotate=(*base.annotate, "entropy"))
