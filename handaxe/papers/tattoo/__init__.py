"""TaTToo (arXiv:2510.06217): train a verifier of tabular steps that grounds its labels in tools."""

from handaxe.methods.method import Method, replace
from handaxe.papers.tattoo.verification_reward import verification_reward

__all__ = ["tattoo"]


def tattoo(base: Method, *, calibration: float = 0.1, tool_weight: float = 0.2) -> Method:
    """Reward verifications by correct labels, calibrated confidence and support by tools.

    Supervised training on synthesized traces is the cold start of the world.

    Args:
        calibration: weight of the log-probability of the correct label.
        tool_weight: weight of the support of a verdict by a tool's result.
    """
    return replace(base, reward=verification_reward(calibration=calibration, tools=tool_weight))
