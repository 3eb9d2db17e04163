"""iStar (arXiv:2509.19199): learn an implicit PRM from pairs of correct and wrong rollouts; add its step advantages."""

from handaxe import credit, judges, rewards
from handaxe.methods.method import Method, replace
from handaxe.papers.istar.right_against_wrong import right_against_wrong
from handaxe.papers.istar.step_leave_one_out import step_leave_one_out

__all__ = ["istar"]


def istar(base: Method, *, alpha: float = 1.0) -> Method:
    """Add leave-one-out advantages of the PRM's step rewards to the outcome advantages.

    Args:
        alpha: weight of the step advantages; 1 in the paper.
    """
    pairs = right_against_wrong(channel="correct")
    judge = judges.implicit_prm(reference="sampler", pairs=pairs, learning_rate=6e-4)
    steps = {"steps": (alpha, step_leave_one_out())}
    return replace(
        base,
        reward=rewards.weighted({"correct": (1.0, base.reward), "steps": (1.0, rewards.judged_steps(judge=judge))}),
        credit=credit.total({"outcome": (1.0, credit.leave_one_out(channel="correct")), **steps}),
        learners=(*base.learners, judge),
    )
