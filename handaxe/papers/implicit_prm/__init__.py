"""Implicit PRM (arXiv:2412.01981): fit log-ratios to outcomes, and read process rewards off them."""

from handaxe.methods.method import Method, replace
from handaxe.papers.implicit_prm.objectives import Objective, prm_by_objective

__all__ = ["implicit_prm"]


def implicit_prm(base: Method, *, beta: float = 0.05, judge_rate: float = 3e-4, objective: Objective = "ce") -> Method:
    """Train an implicit PRM on outcomes, beside the base's policy.

    Args:
        beta: scale of the log-ratio; 0.05 in the paper.
        judge_rate: learning rate of the PRM; 5e-7 in the paper, for 8 billion parameters.
        objective: cross-entropy, DPO, NCA or KTO.
    """
    judge = prm_by_objective(objective, beta=beta, learning_rate=judge_rate)
    return replace(base, learners=(*base.learners, judge))
