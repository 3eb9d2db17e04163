"""CAR: the reward asks for confidence that fits, and keeps right answers above wrong ones whatever they say of it."""

from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, replace
from handaxe.recipes.base.grpo import grpo
from handaxe.rewards.brier_confidence import brier_confidence
from handaxe.rewards.margin_confidence import margin_confidence
from handaxe.rewards.weighted import weighted
from handaxe.worlds.confident_sums import confident_sums

__all__ = ["calibrated"]

TITLE = "The Confidence Dichotomy: Analyzing and Mitigating Miscalibration in Tool-Use Agents"
NOTE = "Unconfirmed: the formula of the reward. Arithmetic with a noisy calculator in the place of search."
FITS = "Better calibrated than with accuracy alone, as accurate."
RANKED = "Right answers are told from wrong ones better than with the Brier score, by which unsure ones are all alike."
RECIPE = Recipe(
    paper=Paper(TITLE, "CAR", "2601.07264", 68),
    claims=(
        Claim(FITS, "ece", "down", same="pass@1", vice=0.1, note=NOTE),
        Claim("Right answers are told from wrong ones.", "auroc", "up", vice=0.65, note=NOTE),
        Claim("Wrong answers are less sure.", "mcip", "down", vice=0.4, note=NOTE),
        Claim(RANKED, "auroc", "up", baseline="calibrated --margin 0 --brier 1", vice=0.95, note=NOTE),
    ),
    base=grpo,
    world=confident_sums,
    setting=Setting(model="start"),
)


def calibrated(
    base: Method, *, right: float = 0.5, wrong: float = 0.5, margin: float = 1.0, brier: float = 0.0
) -> Method:
    """Train on a reward that separates right from wrong by a margin and is highest for honest confidence.

    Args:
        right: b1, what confidence adds to a right answer at most; a guess.
        wrong: b2, what it takes from a wrong one at most; a guess.
        margin: weight of that reward.
        brier: weight of RLCR's, which the paper compares with: 1, with a margin of 0.
    """
    parts = {"margin": (margin, margin_confidence(correct=base.reward, right=right, wrong=wrong))}
    return replace(base, reward=weighted({**parts, "brier": (brier, brier_confidence(correct=base.reward))}))
