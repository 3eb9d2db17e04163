"""GSPO: one ratio for a whole sequence."""

from handaxe.losses.ratios.sequence import sequence
from handaxe.losses.surrogates.clip import clip
from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, partial, replace
from handaxe.recipes.base.plain import plain

__all__ = ["gspo"]

RECIPE = Recipe(
    paper=Paper("Group Sequence Policy Optimization", "GSPO", "2507.18071"),
    claims=(
        Claim("Accuracy along the run is higher than with ratios of tokens.", "pass@1", "up", over="area"),
        Claim("And that while far more tokens are clipped.", "training/loss/clip_fraction", "up", over="area"),
    ),
    base=partial(plain, minibatches=2),
    setting=Setting(eval_every=4),
)


def gspo(base: Method, *, eps_low: float = 3e-4, eps_high: float = 4e-4) -> Method:
    """Train with the geometric mean of the token ratios, clipped as one.

    Args:
        eps_low: lower clip; 3e-4 in the paper.
        eps_high: upper clip; 4e-4 in the paper.
    """
    return replace(base, ratio=sequence(), surrogate=clip(eps_low=eps_low, eps_high=eps_high))
