"""V-ToolRL: right answers, and the share of turns that can be read, after fine-tuning on how tools are used."""

from handaxe.methods.method import Method, replace
from handaxe.rewards.average import average
from handaxe.rewards.reply_status import reply_status
from handaxe.rewards.weighted import weighted

__all__ = ["v_toolrl"]


def v_toolrl(base: Method, *, format_weight: float = 1.0) -> Method:
    """Train on the answer that a tool takes, and on the mean over turns of whether each can be read.

    Args:
        format_weight: of the format; 1 in the released code.
    """
    readable = average(reply_status(values={}, malformed=-1.0))
    return replace(base, reward=weighted({"answer": (1.0, base.reward), "format": (format_weight, readable)}))
