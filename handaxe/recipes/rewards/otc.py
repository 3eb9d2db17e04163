"""OTC: a right answer is worth more the closer its calls are to the fewest that ever sufficed."""

from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, replace
from handaxe.rewards.fewer_calls import fewer_calls
from handaxe.worlds.sums import sums

__all__ = ["otc"]

NOTE = "The start's habit was chosen among six by its calls and accuracy on these held-out tasks, before any training."
HARDER = "More right answers a call on hard questions, too."
RECIPE = Recipe(
    paper=Paper("OTC: Optimal Tool Calls via Reinforcement Learning", "OTC", "2504.14870", 1),
    claims=(
        Claim("Fewer calls than plain, as accurate.", "calls", "down", same="pass@1", vice=0.6, note=NOTE),
        Claim("More right answers a call.", "tool_productivity", "up", note=NOTE),
        Claim("Fewer needless calls.", "calls", "down", where=("difficulty", "easy"), vice=0.2, note=NOTE),
        Claim(HARDER, "tool_productivity", "up", where=("difficulty", "hard"), note=NOTE),
    ),
    world=sums,
    setting=Setting(model="start"),
)


def otc(base: Method, *, smooth: float = 3.0) -> Method:
    """Train on the base's reward times tool efficiency.

    Args:
        smooth: c, how slowly the efficiency falls; unconfirmed, here the most turns.
    """
    return replace(base, reward=fewer_calls(base=base.reward, smooth=smooth))
