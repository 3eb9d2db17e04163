"""VSPO: groups that teach much come again in the place of those that teach nothing, each time a little less."""

from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, replace
from handaxe.recipes.rewards.prs import prs
from handaxe.selection.pipe import pipe
from handaxe.selection.refill_by_value import refill_by_value
from handaxe.worlds.hops import hops

__all__ = ["prs_vspo"]

TITLE = "Enhancing Agentic RL with Progressive Reward Shaping and Value-based Sampling Policy Optimization"
NOTE = "What the steps of the reward are worth, and how copies are damped, are unconfirmed."
KL = "training/loss/kl"
FULL = "prs_vspo --damping 1"
EVEN = "prs_vspo --even"
NEITHER = "prs_vspo --even --damping 1"
RECIPE = Recipe(
    paper=Paper(TITLE, "PRS+VSPO", "2512.07478", 8),
    base=prs,
    world=hops,
    claims=(
        Claim("Accuracy ends higher than without the refill.", "pass@1", "up", vice=0.9, note=NOTE),
        Claim("Than with copies at full weight.", "pass@1", "up", baseline=FULL, vice=0.9, note=NOTE),
        Claim("Than with any groups again.", "pass@1", "up", baseline=EVEN, vice=0.9, note=NOTE),
        Claim("Than with any at full weight.", "pass@1", "up", baseline=NEITHER, vice=0.9, note=NOTE),
        Claim("Copies at full weight drive further.", KL, "down", over="area", baseline=FULL, note=NOTE),
    ),
    setting=Setting(model="start", max_turns=6, steps=16),
)


def prs_vspo(base: Method, *, damping: float = 0.5, even: bool = False) -> Method:
    """Train on PRS, with groups of equal rewards dropped and others copied into their places.

    The claims against other options are the paper's ablation of four cells, value or chance by damped or not.

    Args:
        damping: of a copy against the one before it; unconfirmed. 1 leaves copies as they are.
        even: draw what is copied evenly.
    """
    return replace(base, select=pipe(base.select, refill_by_value(damping=damping, even=even)))
