"""IGPO: a turn is paid for what it taught the policy of the right answer."""

from handaxe.credit.turn_norm import turn_norm
from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, replace
from handaxe.recipes.base.grpo import grpo
from handaxe.rewards.information_gain import information_gain
from handaxe.rollouts.answer_likelihood import answer_likelihood
from handaxe.worlds.hops import hops

__all__ = ["igpo"]

TITLE = "Information Gain-based Policy Optimization: A Simple and Effective Approach for Multi-Turn LLM Agents"
RECIPE = Recipe(
    paper=Paper(TITLE, "IGPO", "2510.14967", 115),
    claims=(
        Claim("Fewer groups without a signal.", "training/groups/zero_advantage", "down", over="area", vice=1.0),
        Claim("More accurate at equal steps.", "pass@1", "up", by_turn=True),
    ),
    base=grpo,
    world=hops,
    setting=Setting(model="start", max_turns=6),
)


def igpo(base: Method, *, gamma: float = 1.0) -> Method:
    """Train on the gain in the likelihood of the right answer by every turn, and on the outcome.

    Differs: the KL coefficient is the base's, 0.04; 0.001 in the paper.

    Args:
        gamma: discount of later turns; 1 in the paper.
    """
    return replace(
        base,
        rollout=answer_likelihood(max_turns=base.setting.max_turns),
        reward=information_gain(base=base.reward),
        credit=turn_norm(norm="joint", gamma=gamma),
    )
