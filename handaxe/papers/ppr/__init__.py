"""PPR (arXiv:2509.25598): bound process scores by the sign of the outcome."""

from handaxe import judges, rewards
from handaxe.losses import terms
from handaxe.methods.method import Method, replace
from handaxe.papers.ppr.outcome_bounded_steps import outcome_bounded_steps

__all__ = ["ppr"]


def ppr(base: Method, *, bounded: bool = True) -> Method:
    """Train on the outcome and on process scores normalized by ReNorm.

    Args:
        bounded: shift the process scores into the sign of the outcome; False adds them unchanged.
    """
    judge = base.judge.steps(rule=judges.step_status(good=0.9, plain=0.5, bad=0.1), low=0.0)
    process = rewards.judged_steps(judge=judge)
    return replace(
        base,
        reward=outcome_bounded_steps(process=process, outcome=base.reward, bounded=bounded),
        terms=(terms.value(coefficient=0.5, eps=None),),
    )
