"""PORTool: a tree of turns, each worth what becomes of it, and judged against the turns tried in its place."""

from handaxe.credit.fork_norm import fork_norm
from handaxe.credit.group_norm import group_norm
from handaxe.credit.total import total as total_of
from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, partial, replace
from handaxe.recipes.rollouts.arpo import arpo
from handaxe.rewards.shared_steps import shared_steps
from handaxe.rollouts.tree import tree
from handaxe.worlds.sums import sums

__all__ = ["portool"]

TITLE = "PORTool: Tool-Use LLM Training with Rewarded Tree"
FEWER = "Fewer calls for a right answer than with attempts that share nothing, as accurate."
RECIPE = Recipe(
    paper=Paper(TITLE, "PORTool", "2510.26020", 6),
    claims=(Claim(FEWER, "calls_per_correct", "down", same="pass@1", vice=0.7),),
    base=partial(arpo, from_start=8),
    world=sums,
    setting=Setting(model="start", group_size=1),
)


def portool(base: Method, *, total: int = 8, fork_most: int = 2, gamma: float = 0.95, turns: int = 3) -> Method:
    """Train on a tree's turns; a group is one attempt. The base plays as many that share nothing.

    Unconfirmed: all numbers, the formulas of the rewards and of the advantages.

    Args:
        total: trajectories of a question.
        fork_most: most turns tried after a turn.
        gamma: discount a turn.
        turns: most turns of a trajectory.
    """
    credit = total_of({"all": (1.0, group_norm(channel="steps")), "fork": (1.0, fork_norm(channel="step"))})
    rollout = tree(total=total, fork_most=fork_most, max_turns=turns)
    return replace(base, rollout=rollout, reward=shared_steps(base=base.reward, gamma=gamma), credit=credit)
