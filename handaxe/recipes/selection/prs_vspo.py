"""PRS and VSPO: a reward that goes up in steps, and groups that teach much again in the place of those that cannot."""

from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, replace
from handaxe.recipes.base.grpo import grpo
from handaxe.rewards.bleu import bleu
from handaxe.rewards.ladder import Rung, ladder
from handaxe.rewards.used_tools import used_tools
from handaxe.rewards.well_formed import well_formed
from handaxe.selection.pipe import pipe
from handaxe.selection.refill_by_value import refill_by_value
from handaxe.worlds.hops import hops

__all__ = ["prs_vspo"]

TITLE = "Enhancing Agentic RL with Progressive Reward Shaping and Value-based Sampling Policy Optimization"
NOTE = "What the steps of the reward are worth, and how copies are damped, are unconfirmed."
LACKS = (
    "Unconfirmed: what steps are worth. The baseline lacks the refill too; on answers of one word BLEU is exact match."
)
RECIPE = Recipe(
    paper=Paper(TITLE, "PRS+VSPO", "2512.07478", 8),
    base=grpo,
    world=hops,
    claims=(
        Claim("Accuracy ends higher than with exact match.", "pass@1", "up", vice=0.9, note=LACKS),
        Claim(
            "Undamped copies drive the policy further off.",
            "training/loss/kl",
            "down",
            over="area",
            baseline="prs_vspo --damping 1",
            note=NOTE,
        ),
    ),
    setting=Setting(model="start", max_turns=6, steps=16),
)


def prs_vspo(base: Method, *, damping: float = 0.5, even: bool = False) -> Method:
    """Train on calls that can be read, then calls that work, then words of the answer; refill by value.

    Args:
        damping: of a copy against the one before it; unconfirmed. 1 leaves copies as they are.
        even: draw what is copied evenly, the paper's ablation.

    Differs: the answer's quality counts by rule alone, without a judge of long answers.
    """
    rungs = [Rung("parsed", well_formed(), 0.1, failed=-1.0), Rung("executed", used_tools(), 0.1)]
    reward = ladder([*rungs, Rung("quality", bleu(smooth=False, limit=True), 0.8)])
    again = refill_by_value(damping=damping, even=even)
    return replace(base, reward=reward, select=pipe(base.select, again))
