"""Lite PPO: the mean of the group, the spread of the batch, the mean over tokens."""

from typing import Literal

from handaxe.credit.batch_norm import batch_norm
from handaxe.losses.reductions.token_mean import token_mean
from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, partial, replace
from handaxe.worlds.sums import sums

__all__ = ["lite_ppo"]

TITLE = "Part I: Tricks or Traps? A Deep Dive into RL for LLM Reasoning"
RECIPE = Recipe(
    paper=Paper(TITLE, "Lite PPO", "2508.08221", 179),
    claims=(
        Claim(
            "Accuracy along the run is higher than with the group's own spread.",
            "pass@1",
            "up",
            over="area",
            vice=0.9,
            note="With --of centred it is the other reading of the batch's spread.",
        ),
    ),
    world=partial(sums, easy=0.7),
    setting=Setting(model="start", steps=25, eval_every=5),
)


def lite_ppo(base: Method, *, of: Literal["reward", "centred"] = "reward") -> Method:
    """Scale centred rewards by the batch, and let every token weigh the same.

    Unconfirmed: whose spread the paper's is.

    Args:
        of: whose spread divides: of "reward", or of what was "centred" within its group.
    """
    return replace(base, shape=batch_norm(of=of), reduction=token_mean())
