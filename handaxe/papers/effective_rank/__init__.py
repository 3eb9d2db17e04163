"""VERL (arXiv:2509.23808): shape advantages by the effective rank of hidden states and its growth."""

from handaxe.methods.method import Method, replace
from handaxe.papers.effective_rank.effective_rank_bonus import effective_rank_bonus
from handaxe.papers.effective_rank.effective_rank_of import effective_rank as measured

__all__ = ["effective_rank"]


def effective_rank(base: Method, *, stride: int = 4, kappa: float = 2.0, rate: float = 0.3) -> Method:
    """Add a bonus to rollouts with a rank, or a growth of rank, above its running mean.

    Args:
        stride: tokens between two ranks; 40 in the paper's released runs.
        kappa: inverse of the largest share of an advantage that is added; 2 in the paper.
        rate: update rate of the running means; 0.3 in the released runs.
    """
    annotate = (*base.annotate, measured(stride=stride))
    return replace(base, annotate=annotate, transform=effective_rank_bonus(stride=stride, kappa=kappa, rate=rate))
