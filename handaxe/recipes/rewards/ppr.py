"""PPR: a process score ranks steps inside the sign of the outcome, so that good-looking steps never outweigh it."""

from handaxe.judges.step_status import step_status
from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, partial, replace
from handaxe.recipes.base.ppo import ppo
from handaxe.rewards.judged_steps import judged_steps
from handaxe.rewards.outcome_bounded_steps import outcome_bounded_steps
from handaxe.worlds.hops import hops

__all__ = ["ppr"]

TITLE = "Hybrid Reward Normalization for Process-supervised Non-verifiable Agentic Tasks"
SUM = "ppr --no-bounded"
RECIPE = Recipe(
    paper=Paper(TITLE, "PPR", "2509.25598", 80),
    claims=(
        Claim("More right answers than with the plain sum of both rewards.", "pass@1", "up", baseline=SUM, vice=0.5),
        Claim("More right answers than with outcomes alone.", "pass@1", "up", vice=0.9, by_turn=True),
    ),
    base=partial(ppo, lam=1.0),
    world=hops,
    setting=Setting(model="start", max_turns=6),
)


def ppr(base: Method, *, bounded: bool = True) -> Method:
    """Train on the outcome and on process scores that are kept inside its sign.

    Unconfirmed: the formula. Differs: the process score is a rule that repeated searches can farm, where the paper has
    a language model that writes its principles first; rates and KL are the base's.

    Args:
        bounded: False adds the process scores up beside the outcome.
    """
    process = judged_steps(judge=step_status(good=0.9, plain=0.5, bad=0.1))
    return replace(base, reward=outcome_bounded_steps(process=process, outcome=base.reward, bounded=bounded))
