"""VERL: an advantage grows where an attempt's hidden states span more, or come to span more faster, than is usual."""

from handaxe.credit.rank_bonus import rank_bonus
from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, replace
from handaxe.ops.effective_rank import effective_rank as measured
from handaxe.recipes.base.grpo import grpo

__all__ = ["effective_rank"]

TITLE = "Beyond the Exploration-Exploitation Trade-off: A Hidden State Approach for LLM Reasoning in RLVR"
NOTE = "Answers of some 20 tokens, so ranks are read every fourth token, where the paper reads every fortieth."
RECIPE = Recipe(
    paper=Paper(TITLE, "VERL", "2509.23808", 119),
    claims=(
        Claim("More is right in one attempt.", "pass@1", "up", vice=0.9, note=NOTE),
        Claim("And in one of eight: the policy goes on exploring.", "pass@8", "up", vice=0.95, note=NOTE),
    ),
    base=grpo,
    setting=Setting(steps=20, held_out=100, samples=8),
)


def effective_rank(base: Method, *, stride: int = 4, kappa: float = 2.0, rate: float = 0.3) -> Method:
    """Add the bonus of ranks to the base's advantages.

    Args:
        stride: tokens between two ranks; 40 in the paper's released runs.
        kappa: at most 1 / kappa of an advantage is added; 2 in the paper.
        rate: of the running means that a rank is compared with; 0.3 in the released runs.
    """
    annotate = (*base.annotate, measured(stride=stride))
    return replace(base, annotate=annotate, shape=rank_bonus(stride=stride, kappa=kappa, rate=rate))
