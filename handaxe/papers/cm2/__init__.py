"""CM2 (arXiv:2602.12268): reward weighted checklists, with credit by trajectory, by user turn or by step."""

from handaxe.methods.method import Method, replace
from handaxe.papers.cm2.checklist import checklist
from handaxe.papers.cm2.checklist_credit import Assign, checklist_credit

__all__ = ["cm2"]


def cm2(base: Method, *, assign: Assign = "trajectory") -> Method:
    """Reward newly met criteria, and centre the credit over the group.

    Args:
        assign: unit of credit: "trajectory" (the paper's choice), "turn" of the user, or "step" of the policy.
    """
    world = base.world
    criteria = world.need("criteria")
    return replace(
        base,
        reward=checklist(criteria=criteria, check=base.judge.check(rule=world.check, criteria=criteria)),
        credit=checklist_credit(assign=assign),
    )
