"""CM2: the criteria of a task are the reward, dense in what they ask and sparse in who gets the credit."""

from handaxe.methods.method import Method, replace
from handaxe.papers.cm2.checklist import checklist
from handaxe.papers.cm2.checklist_credit import Assign
from handaxe.papers.cm2.checklist_credit import checklist as credit_of

__all__ = ["cm2"]


def cm2(base: Method, *, assign: Assign = "trajectory") -> Method:
    """Train on what is earned of a checklist.

    Args:
        assign: trajectory (what the paper settles on), turn (of the user) or step (of the policy).
    """
    world = base.world
    return replace(
        base,
        reward=checklist(criteria=world.need("criteria"), check=world.need("check")),
        credit=credit_of(assign=assign),
    )
