"""AEPO (arXiv:2510.14545): balance ARPO's branching and updates by entropy."""

from handaxe import rollouts
from handaxe.losses import reductions
from handaxe.methods.build import load_vocab_size
from handaxe.methods.method import Method, replace
from handaxe.papers.aepo.clip_with_gradient import clip_with_gradient
from handaxe.papers.aepo.entropy_scaled import entropy_scaled
from handaxe.papers.aepo.probe_split import probe_split

__all__ = ["aepo"]


def aepo(base: Method, *, leaves: int = 8, forks: int = 4, vocabulary: int | None = None) -> Method:
    """Penalise consecutive branches, let a probe rollout divide the budget, and scale advantages by entropy.

    Args:
        leaves: trajectories of a question; 16 or 12 in the released scripts.
        forks: most branches at a turn; 1 in the paper, where a trajectory has more turns to branch at.
        vocabulary: token ids that normalise entropies; None: those of the policy, 264 for the tiny one.
    """
    ids = vocabulary or load_vocab_size(base.settings.model)
    turns, chance = base.settings.max_turns, rollouts.branch_chance(vocabulary=ids, penalty=0.05)
    return replace(
        base,
        rollout=rollouts.branching(
            chance=chance, total=leaves, from_start=probe_split(), copies=forks, max_turns=turns
        ),
        surrogate=clip_with_gradient(cap=3.0),
        reduction=reductions.token_mean(),
        transform=entropy_scaled(),
        annotate=(*base.annotate, "entropy"),
    )
