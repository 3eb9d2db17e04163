"""Reward that finds false replies of an unreliable calculator."""

from __future__ import annotations

from handaxe.core.errors import Retry
from handaxe.core.protocols import Reward
from handaxe.core.records import ToolCall, ToolReply, Trajectory
from handaxe.rewards.outcome import outcome
from handaxe.tools.calculator import calculator

__all__ = ["false_replies"]


def false_replies() -> Reward:
    """Score 1 for a rollout with a reply of the calculator that is not the result of its expression, else 0.

    Returns:
        A reward with outcome [G].

    Example:
        the call "12*34" with the reply "408" -> 0, with the reply "1015" -> 1

    Paper: arXiv:2601.07264 (CAR), evidence that may be false; the share is not in the paper.
    Differs: nothing.
    """
    return outcome(_misled)


def _misled(trajectory: Trajectory) -> bool:
    pairs = [pair for turn in trajectory.turns for pair in zip(turn.parsed.calls, turn.replies)]
    return any(_is_false(call, reply) for call, reply in pairs if call.name == calculator.schema.name)


def _is_false(call: ToolCall, reply: ToolReply) -> bool:
    if reply.status != "ok":
        return False
    try:
        return reply.content != str(calculator(**call.arguments))
    except Retry:  # the tool answered another query instead of a malformed one
        return True
