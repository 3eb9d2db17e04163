"""CAR (arXiv:2601.07264): reward calibrated confidence, with a margin between correct and incorrect answers."""

from handaxe import rewards
from handaxe.methods.method import Method, replace
from handaxe.papers.calibrated.brier_confidence import brier_confidence
from handaxe.papers.calibrated.margin_confidence import margin_confidence

__all__ = ["calibrated"]


def calibrated(
    base: Method, *, bonus: float = 0.5, penalty: float = 0.5, margin: float = 1.0, brier: float = 0.0
) -> Method:
    """Score correct answers 1 to 1 + b1 and incorrect answers -b2 to 0, by stated confidence.

    Args:
        bonus: b1, most that confidence adds to a correct answer; a guess.
        penalty: b2, most that confidence takes from an incorrect answer; a guess.
        margin: weight of this reward.
        brier: weight of RLCR's reward, the paper's comparison: 1, with a margin of 0.
    """
    separated = margin_confidence(correct=base.reward, bonus=bonus, penalty=penalty)
    rlcr = brier_confidence(correct=base.reward)
    return replace(base, reward=rewards.weighted({"margin": (margin, separated), "brier": (brier, rlcr)}))
