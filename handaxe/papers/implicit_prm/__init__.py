"""Implicit PRM: a model that learned from outcomes alone scores attempts, and their steps without step labels."""

from handaxe.judges.implicit_prm import implicit_prm as judge
from handaxe.methods.method import Method, replace

__all__ = ["implicit_prm"]


def implicit_prm(base: Method, *, beta: float = 0.05, judge_rate: float = 3e-4) -> Method:
    """Teach an implicit PRM beside a policy that stays as it is, by cross-entropy on outcomes.

    Args:
        beta: scale of the log-ratio; 0.05 in the paper.
        judge_rate: learning rate of the PRM.
    """
    return replace(base, learners=(*base.learners, judge(beta=beta, learning_rate=judge_rate)))
