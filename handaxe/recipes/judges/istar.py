"""iStar: a copy of the policy learns from pairs of right and wrong attempts, and its log-ratios reward every step."""

from handaxe.credit.credited_again import credited_again
from handaxe.credit.leave_one_out import leave_one_out
from handaxe.credit.step_leave_one_out import step_leave_one_out
from handaxe.credit.total import total
from handaxe.judges.implicit_prm import implicit_prm
from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, replace
from handaxe.pairs.right_against_wrong import right_against_wrong
from handaxe.recipes.base.rloo import rloo
from handaxe.rewards.judged_steps import judged_steps
from handaxe.rewards.weighted import weighted
from handaxe.worlds.hops import hops

__all__ = ["istar"]
GAP = "training/learner/implicit_prm/step_gap"
RECIPE = Recipe(
    paper=Paper("Online Process Reward Learning for Agentic Reinforcement Learning", "iStar", "2509.19199", 90),
    claims=(
        Claim("More right answers than with outcomes alone, after as many attempts.", "pass@1", "up", by_turn=True),
        Claim("Steps of right attempts earn more.", GAP, "up", baseline="zero", over="area", learned=True),
    ),
    base=rloo,
    world=hops,
    setting=Setting(model="start", max_turns=6),
)


def istar(base: Method, *, alpha: float = 1.0, refreshed: bool = False) -> Method:
    """Add an implicit PRM's step advantages to the outcome's.

    Differs: no clipped ratio, pairs of sums of the steps' rewards, and no price on an act that cannot be done.

    Args:
        alpha: weight of the step advantages; 1 in the paper.
        refreshed: the PRM learns from a step's attempts before it scores them, not after.
    """
    judge = implicit_prm(reference="sampler", pairs=right_against_wrong(channel="correct"), learning_rate=6e-4)
    reward = weighted({"correct": (1.0, base.reward), "steps": (1.0, judged_steps(judge=judge))})
    credit = total({"outcome": (1.0, leave_one_out(channel="correct")), "steps": (alpha, step_leave_one_out())})
    again = credited_again(reward=reward, credit=credit, on=refreshed, then=base.shape)
    return replace(base, reward=reward, credit=credit, shape=again, learners=(*base.learners, judge))
