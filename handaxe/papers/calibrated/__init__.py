"""CAR: the reward asks for confidence that fits, and keeps right answers above wrong ones whatever they say of it."""

from handaxe.methods.method import Method, replace
from handaxe.papers.calibrated.brier_confidence import brier_confidence
from handaxe.papers.calibrated.margin_confidence import margin_confidence
from handaxe.rewards.weighted import weighted

__all__ = ["calibrated"]


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
