"""ARTIST: answer, format and successful execution, added up."""

from handaxe.methods.method import Method, replace
from handaxe.rewards.tool_success import tool_success
from handaxe.rewards.weighted import weighted
from handaxe.rewards.well_formed import well_formed

__all__ = ["artist"]


def artist(base: Method, *, answer_weight: float = 2.0, format_weight: float = 0.5) -> Method:
    """Train on a composite reward; executions that succeed give up to 1.

    Args:
        answer_weight: of the base's reward; 2 is unconfirmed.
        format_weight: of a well-formed attempt; 0.5 is unconfirmed.
    """
    parts = {"answer": (answer_weight, base.reward), "format": (format_weight, well_formed())}
    return replace(base, reward=weighted({**parts, "execution": (1.0, tool_success())}))
