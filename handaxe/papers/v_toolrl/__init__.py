"""V-ToolRL (arXiv:2505.08617): reward the answer and the share of well-formed turns, after a cold start with tools."""

from handaxe import rewards
from handaxe.methods.method import Method, replace

__all__ = ["v_toolrl"]


def v_toolrl(base: Method, *, format_weight: float = 1.0) -> Method:
    """Reward the answer handed in by a tool, and the mean format of the turns.

    Args:
        format_weight: weight of the format; 1 in the released code.
    """
    malformed = rewards.turns_to_outcome(rewards.reply_status(values={}, malformed=1.0), reduce="mean")
    parts = {"answer": (1.0, base.reward), "malformed": (-format_weight, malformed)}
    return replace(base, reward=rewards.weighted(parts))
