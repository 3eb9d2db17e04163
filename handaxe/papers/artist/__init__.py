"""ARTIST (arXiv:2505.01441): reward the answer, the format and the share of successful executions."""

from handaxe import rewards
from handaxe.methods.method import Method, replace

__all__ = ["artist"]


def artist(base: Method, *, answer_weight: float = 2.0, format_weight: float = 0.5) -> Method:
    """Add answer, format and execution rewards; the share of successful executions earns up to 1.

    Args:
        answer_weight: weight of the base's reward. 2 is unconfirmed.
        format_weight: reward of a well-formed rollout. 0.5 is unconfirmed.
    """
    parts = {
        "answer": (answer_weight, base.reward),
        "format": (format_weight, rewards.well_formed()),
        "execution": (1.0, rewards.tool_success()),
    }
    return replace(base, reward=rewards.weighted(parts))
