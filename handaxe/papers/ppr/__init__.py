"""PPR: a process score ranks steps inside the sign of the outcome, so that good-looking steps never outweigh it."""

from handaxe.judges.step_status import step_status
from handaxe.methods.method import Method, replace
from handaxe.papers.ppr.outcome_bounded_steps import outcome_bounded_steps
from handaxe.rewards.judged_steps import judged_steps

__all__ = ["ppr"]


def ppr(base: Method, *, bounded: bool = True) -> Method:
    """Train on the outcome and on process scores that are kept inside its sign.

    Args:
        bounded: False adds the process scores up beside the outcome.
    """
    process = judged_steps(judge=step_status(good=0.9, plain=0.5, bad=0.1))
    return replace(base, reward=outcome_bounded_steps(process=process, outcome=base.reward, bounded=bounded))
