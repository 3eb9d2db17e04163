"""CM2: the criteria of a task are the reward, dense in what they ask and sparse in who gets the credit."""

from handaxe.credit.checklist import Assign
from handaxe.credit.checklist import checklist as credit_of
from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, replace
from handaxe.rewards.checklist import checklist
from handaxe.worlds.hops import hops

__all__ = ["cm2"]

TITLE = "CM2: Reinforcement Learning with Checklist Rewards for Multi-Turn and Multi-Step Agentic Tool Use"
DENSE = "Criteria teach faster than the answer alone: more is right along the way."
RECIPE = Recipe(
    paper=Paper(TITLE, "CM2", "2602.12268", 131),
    claims=(
        Claim(DENSE, "pass@1", "up", over="area"),
        Claim("By step more is right along the way.", "pass@1", "down", baseline="cm2 --assign step", over="area"),
        Claim("Credit by trajectory ends higher.", "pass@1", "up", baseline="cm2 --assign step"),
    ),
    world=hops,
    setting=Setting(model="start", max_turns=6, eval_every=5),
)


def cm2(base: Method, *, assign: Assign = "trajectory") -> Method:
    """Train on what is earned of a checklist.

    Differs: criteria are checked by rule, tools are real, and there is no KL penalty. No strict criterion ends an
    attempt: where the user speaks once there is nothing left to end (else see rollouts.until_strict_fails).

    Args:
        assign: trajectory (what the paper settles on), turn (of the user) or step (of the policy).
    """
    world = base.world
    return replace(
        base,
        reward=checklist(criteria=world.need("criteria"), check=world.need("check")),
        credit=credit_of(assign=assign),
    )
