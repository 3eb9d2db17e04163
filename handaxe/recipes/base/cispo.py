"""CISPO: clip the weight, keep every token's gradient."""

from handaxe.losses.reductions.token_mean import token_mean
from handaxe.losses.surrogates.truncated import truncated
from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, partial, replace
from handaxe.recipes.base.plain import plain

__all__ = ["cispo"]

TITLE = "MiniMax-M1: Scaling Test-Time Compute Efficiently with Lightning Attention"
RECIPE = Recipe(
    paper=Paper(TITLE, "CISPO", "2506.13585"),
    claims=(
        Claim("Accuracy along the run is higher than with PPO's clip.", "pass@1", "up", over="area"),
        Claim(
            "No token loses its gradient to the clip.", "training/loss/clip_fraction", "down", over="area", vice=1e-3
        ),
    ),
    base=partial(plain, minibatches=2),
    setting=Setting(eval_every=4),
)


def cispo(base: Method) -> Method:
    """Train REINFORCE with a truncated, detached importance weight."""
    return replace(base, surrogate=truncated(), reduction=token_mean())
