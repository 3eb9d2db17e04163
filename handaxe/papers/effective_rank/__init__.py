"""VERL: an advantage grows where an attempt's hidden states span more, or come to span more faster, than is usual."""

from handaxe.methods.method import Method, replace
from handaxe.papers.effective_rank.effective_rank_bonus import effective_rank_bonus
from handaxe.papers.effective_rank.effective_rank_of import effective_rank as measured

__all__ = ["effective_rank"]


def effective_rank(base: Method, *, stride: int = 4, kappa: float = 2.0, rate: float = 0.3) -> Method:
    """Add the bonus of ranks to the base's advantages.

    Args:
        stride: tokens between two ranks; 40 in the paper's released runs.
        kappa: at most 1 / kappa of an advantage is added; 2 in the paper.
        rate: of the running means that a rank is compared with; 0.3 in the released runs.
    """
    annotate = (*base.annotate, measured(stride=stride))
    return replace(base, annotate=annotate, shape=effective_rank_bonus(stride=stride, kappa=kappa, rate=rate))
