"""RLOO: every attempt is judged against the mean of the others."""

from handaxe.credit.leave_one_out import leave_one_out
from handaxe.losses.reductions.rollout_sum import rollout_sum
from handaxe.losses.surrogates.reinforce import reinforce
from handaxe.methods.method import Claim, Method, Paper, Recipe, replace

__all__ = ["rloo"]

RECIPE = Recipe(
    paper=Paper(
        "Back to Basics: Revisiting REINFORCE Style Optimization for Learning from Human Feedback in LLMs",
        "RLOO",
        "2402.14740",
    ),
    claims=(Claim("Accuracy ends higher than with PPO.", "pass@1", "up", baseline="ppo"),),
)


def rloo(base: Method) -> Method:
    """Train REINFORCE with a leave-one-out baseline, the log-probabilities of an attempt added up."""
    return replace(base, credit=leave_one_out(), surrogate=reinforce(), reduction=rollout_sum())
