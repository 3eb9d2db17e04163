"""PRS: a reward that goes up in steps, each of which counts only where those before it were taken."""

from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, replace
from handaxe.recipes.base.grpo import grpo
from handaxe.rewards.bleu import bleu
from handaxe.rewards.ladder import Rung, ladder
from handaxe.rewards.used_tools import used_tools
from handaxe.rewards.well_formed import well_formed
from handaxe.worlds.hops import hops

__all__ = ["prs"]

TITLE = "Enhancing Agentic RL with Progressive Reward Shaping and Value-based Sampling Policy Optimization"
NOTE = "Unconfirmed: what steps are worth. On answers of one word BLEU is exact match."
RECIPE = Recipe(
    paper=Paper(TITLE, "PRS", "2512.07478", 8),
    base=grpo,
    world=hops,
    claims=(
        Claim("Accuracy ends higher than with exact match.", "pass@1", "up", vice=0.9, note=NOTE),
        Claim("It rises sooner.", "pass@1", "up", over="area", note=NOTE),
    ),
    setting=Setting(model="start", max_turns=6, steps=16, eval_every=4),
)


def prs(base: Method, *, formed: float = 0.1, ran: float = 0.1, quality: float = 0.8) -> Method:
    """Train on calls that can be read, then calls that work, then words of the answer.

    A right answer to which no call that worked has led earns less than a wrong one after such a call: by the paper's
    rule, later steps do not count without the earlier ones. Differs: the answer's quality counts by rule alone, without
    a judge of long answers. Unconfirmed: all that a step is worth, and the order of BLEU.

    Args:
        formed: of an attempt whose calls can all be read; else it earns -1.
        ran: of one in which a call worked.
        quality: of BLEU with the answer, whose order the reference's length limits.
    """
    rungs = [Rung("parsed", well_formed(), formed, failed=-1.0), Rung("executed", used_tools(), ran)]
    return replace(base, reward=ladder([*rungs, Rung("quality", bleu(smooth=False, limit=True), quality)]))
