"""SPEAR: calls are paid for at first, and the best attempts train again, judged by what is usual now."""

from handaxe.losses.covariance.clip_cov import clip_cov
from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, replace
from handaxe.recipes.base.dr_bot import dr_bot
from handaxe.rewards.annealed_calls import annealed_calls
from handaxe.rewards.weighted import weighted
from handaxe.selection.self_imitation import REPLAYED, self_imitation
from handaxe.training.schedule import cosine
from handaxe.worlds.calls import calls

__all__ = ["spear"]

TITLE = "Learn the Ropes, Then Trust the Wins: Self-imitation with Progressive Exploration for Agentic \
Reinforcement Learning"
RECIPE = Recipe(
    paper=Paper(TITLE, "SPEAR", "2509.22601", 23),
    claims=(
        Claim("Accuracy ends higher than Dr. BoT's after as many steps.", "pass@1", "up"),
        Claim("Advantages as they were stored do worse.", "pass@1", "up", baseline="spear --no-recalibrate"),
    ),
    base=dr_bot,
    world=calls,
    setting=Setting(model="start", max_turns=1, max_tokens=64),
)


def spear(base: Method, *, capacity: int = 16, anneal: int = 10, recalibrate: bool = True) -> Method:
    """Train with an annealed reward for calls and with self-imitation.

    Differs: outcomes of 1 and -1 leave replayed advantages so alike that the clip by covariance finds no token.

    Args:
        capacity: attempts of a replay; 2048 in the paper, 32 in its released math script.
        anneal: steps until calls pay 0 and a replay weighs 1; 200 and 100 to 300 in the paper.
        recalibrate: judge what is replayed by the median of recent rewards, and not as it was when stored.
    """
    paid, rising = annealed_calls(scale=cosine(1.0, steps=anneal)), cosine(0.0, steps=anneal, floor=1.0)
    again = self_imitation(capacity=capacity, weight=rising, recalibrate=recalibrate, select=base.select)
    held = clip_cov(fraction=0.02, low=2.0, high=60.0, only=REPLAYED)
    reward = weighted({"correct": (1.0, base.reward), "calls": (1.0, paid)})
    return replace(base, reward=reward, select=again, adjustments=(*base.adjustments, held))
