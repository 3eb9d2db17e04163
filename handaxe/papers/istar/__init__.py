"""iStar: a copy of the policy learns from pairs of right and wrong attempts, and its log-ratios reward every step."""

from handaxe.credit.leave_one_out import leave_one_out
from handaxe.credit.total import total
from handaxe.judges.implicit_prm import implicit_prm
from handaxe.methods.method import Method, replace
from handaxe.papers.istar.credited_again import credited_again
from handaxe.papers.istar.right_against_wrong import right_against_wrong
from handaxe.papers.istar.step_leave_one_out import step_leave_one_out
from handaxe.rewards.judged_steps import judged_steps
from handaxe.rewards.weighted import weighted

__all__ = ["istar"]


def istar(base: Method, *, alpha: float = 1.0, refreshed: bool = False) -> Method:
    """Add an implicit PRM's step advantages to the outcome's.

    Args:
        alpha: weight of the step advantages; 1 in the paper.
        refreshed: the PRM learns from a step's attempts before it scores them, not after.
    """
    judge = implicit_prm(reference="sampler", pairs=right_against_wrong(channel="correct"), learning_rate=6e-4)
    reward = weighted({"correct": (1.0, base.reward), "steps": (1.0, judged_steps(judge=judge))})
    credit = total({"outcome": (1.0, leave_one_out(channel="correct")), "steps": (alpha, step_leave_one_out())})
    again = credited_again(reward=reward, credit=credit, on=refreshed, then=base.shape)
    return replace(base, reward=reward, credit=credit, shape=again, learners=(*base.learners, judge))
